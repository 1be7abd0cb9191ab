#include "control/compute_mode.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti::control {
namespace {

constexpr const char* kOne = "GPU-11111111-0000-0000-0000-000000000000";
constexpr const char* kTwo = "GPU-22222222-0000-0000-0000-000000000000";

class ComputeModeTest : public testing::Test {
 protected:
  ComputeModeTest() {
    char name[] = "/tmp/tutti-state.XXXXXX";
    directory_ = mkdtemp(name);
    setenv("TUTTI_STATE_DIR", (directory_ + "/deep/state").c_str(), 1);
  }
  ~ComputeModeTest() override {
    unsetenv("TUTTI_STATE_DIR");
    std::filesystem::remove_all(directory_);
  }
  std::string directory_;
};

TEST_F(ComputeModeTest, NoFileIsTheDefaultForAll) { EXPECT_EQ(ComputeModes::Load().Of(kOne), ComputeMode::kDefault); }

TEST_F(ComputeModeTest, KeepsTheModeOfEachDevice) {
  ASSERT_TRUE(ComputeModes::Set(kOne, ComputeMode::kExclusiveProcess));
  ASSERT_TRUE(ComputeModes::Set(kTwo, ComputeMode::kProhibited));
  EXPECT_EQ(ComputeModes::Load().Of(kOne), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(ComputeModes::Load().Of(kTwo), ComputeMode::kProhibited);
  ASSERT_TRUE(ComputeModes::Set(kOne, ComputeMode::kDefault));
  EXPECT_EQ(ComputeModes::Load().Of(kOne), ComputeMode::kDefault);
  EXPECT_EQ(ComputeModes::Load().Of(kTwo), ComputeMode::kProhibited);
}

TEST_F(ComputeModeTest, TheFileIsForAllUsersToRead) {
  const mode_t before = umask(077);
  ASSERT_TRUE(ComputeModes::Set(kOne, ComputeMode::kProhibited));
  umask(before);
  struct stat info{};
  ASSERT_EQ(stat(ComputeModes::File().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST_F(ComputeModeTest, LinesThatMakeNoSenseAreLeftOut) {
  ASSERT_TRUE(ComputeModes::Set(kTwo, ComputeMode::kProhibited));
  std::ofstream(ComputeModes::File(), std::ios::app) << "GPU-\n\n"
                                                     << kOne << " SOMETIMES\n"
                                                     << std::string(5000, 'x') << "\n";
  EXPECT_EQ(ComputeModes::Load().Of(kOne), ComputeMode::kDefault);
  EXPECT_EQ(ComputeModes::Load().Of(kTwo), ComputeMode::kProhibited);
}

TEST(ComputeModeNameTest, TakesNamesInAnyCaseAndNvidiasNumbers) {
  EXPECT_EQ(ParseComputeMode("exclusive_process").value(), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(ParseComputeMode("3").value(), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(ParseComputeMode("PROHIBITED").value(), ComputeMode::kProhibited);
  EXPECT_NE(ParseComputeMode("banana").error().text.find("banana"), std::string::npos);
  EXPECT_FALSE(ParseComputeMode(""));
}

}  // namespace
}  // namespace tutti::control
