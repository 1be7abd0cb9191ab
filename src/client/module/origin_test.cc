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
  EXPECT_THAT(AdviceAboutPtx("", numba, false, 8), HasSubstr("lineinfo=True"));
  const std::vector<std::string> both = {"/v/cupy/_core/core.so", "/v/triton/_C/libtriton.so"};
  EXPECT_THAT(AdviceAboutPtx("", both, false, 8), HasSubstr("CUPY_COMPILE_WITH_PTX=1"));
  EXPECT_THAT(AdviceAboutPtx("", both, false, 8), HasSubstr("TRITON_DISABLE_LINE_INFO"));
  EXPECT_THAT(AdviceAboutPtx("", {"/v/nvidia/cu13/lib/libnvrtc.so.13"}, false, 8), HasSubstr("tutti run"));
  EXPECT_EQ(AdviceAboutPtx("", {"/lib/libc.so.6"}, false, 8), "");
}

TEST(OriginTest, WhoIsUnderTuttiRunIsToldWhatElseHelps) {
  for (const char* const maker : {"/v/libnvrtc.so.13", "/v/libnvJitLink.so.13"})
    EXPECT_THAT(AdviceAboutPtx("", {maker}, true, 8), HasSubstr("give it -lineinfo"));
}

TEST(OriginTest, ALibraryIsKnownByItsNameNotItsFolder) {
  EXPECT_EQ(AdviceAboutPtx("/home/u/x.so.d/program", {}, false, 8), "");
  EXPECT_EQ(AdviceAboutPtx("/home/u/program.source", {}, false, 8), "");
  for (const char* const library : {"/v/libx.so", "/v/libx.so.12", "libx.so", "/v/x.cpython-311.so"})
    EXPECT_THAT(AdviceAboutPtx(library, {}, false, 8), HasSubstr("TUTTI_COMPUTE_CAPABILITY"));
}

TEST(OriginTest, WhoHasTriedTheNewestIsNotToldToTryIt) {
  EXPECT_EQ(AdviceAboutPtx("/v/libcurand.so.10", {}, false, 13), "");
}

TEST(OriginTest, ALibraryIsNoMatterOfTheMakersBesideIt) {
  const std::vector<std::string> cupy = {"/v/cupy/_core/core.so"};
  const std::string advice = AdviceAboutPtx("/v/nvidia/libcublasLt.so.13", cupy, false, 8);
  EXPECT_THAT(advice, HasSubstr("TUTTI_COMPUTE_CAPABILITY"));
  EXPECT_THAT(advice, testing::Not(HasSubstr("CUPY")));
  EXPECT_EQ(AdviceAboutPtx("/home/u/program", cupy, false, 8), "");
}

}  // namespace
}  // namespace tutti::client
