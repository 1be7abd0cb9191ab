#include "client/module/origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::client {
namespace {

using testing::HasSubstr;

TEST(OriginTest, CodeOfAProgramComesFromItsFile) {
  static const char image[] = "image";
  EXPECT_THAT(OriginOf(image), HasSubstr("client_test"));
  const std::string made_at_run_time(100, 'x');
  EXPECT_EQ(OriginOf(made_at_run_time.data()), "");
  EXPECT_EQ(OriginOf(nullptr), "");
}

TEST(OriginTest, LibrariesOfThisProcessAreListed) {
  EXPECT_THAT(LoadedFiles(), testing::Contains(HasSubstr("libc.so")));
}

TEST(OriginTest, WhoMadeTheCodeIsToldItsSwitch) {
  const std::vector<std::string> numba = {"", "/lib/libc.so.6", "/v/site-packages/numba/_dispatcher.cpython-311.so"};
  EXPECT_THAT(AdviceAboutPtx("", numba), HasSubstr("lineinfo=True"));
  const std::vector<std::string> both = {"/v/cupy/_core/core.so", "/v/triton/_C/libtriton.so"};
  EXPECT_THAT(AdviceAboutPtx("", both), HasSubstr("CUPY_COMPILE_WITH_PTX=1"));
  EXPECT_THAT(AdviceAboutPtx("", both), HasSubstr("TRITON_DISABLE_LINE_INFO"));
  EXPECT_THAT(AdviceAboutPtx("", {"/v/nvidia/cu13/lib/libnvrtc.so.13"}), HasSubstr("tutti run"));
  EXPECT_EQ(AdviceAboutPtx("", {"/lib/libc.so.6"}), "");
}

TEST(OriginTest, ALibraryIsNoMatterOfTheMakersBesideIt) {
  const std::vector<std::string> cupy = {"/v/cupy/_core/core.so"};
  const std::string advice = AdviceAboutPtx("/v/nvidia/libcublasLt.so.13", cupy);
  EXPECT_THAT(advice, HasSubstr("TUTTI_COMPUTE_CAPABILITY"));
  EXPECT_THAT(advice, testing::Not(HasSubstr("CUPY")));
  EXPECT_EQ(AdviceAboutPtx("/home/u/program", cupy), "");
}

}  // namespace
}  // namespace tutti::client
