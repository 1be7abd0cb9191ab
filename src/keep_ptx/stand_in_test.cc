#include "keep_ptx/stand_in.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace tutti::keep_ptx {
namespace {

class StandInsTest : public testing::Test {
 protected:
  StandInsTest() {
    char name[] = "/tmp/tutti_stand_ins.XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/libcublas.so.13");
    std::ofstream(directory_ + "/libcufft.so.12");
    stand_ins_->LookIn(directory_.c_str());
  }
  ~StandInsTest() override { std::filesystem::remove_all(directory_); }

  // Ours for `loaded`, without the directory; empty if there is none.
  std::string For(const char* loaded) const {
    const char* const found = stand_ins_->For(loaded);
    if (found == nullptr) return "";
    const std::string path = found;
    EXPECT_TRUE(path.starts_with(directory_ + "/"));
    return path.substr(directory_.size() + 1);
  }

  std::string directory_;
  const std::unique_ptr<StandIns> stand_ins_ = std::make_unique<StandIns>();
};

TEST_F(StandInsTest, LibrariesAreKnownByNameAndPath) {
  EXPECT_EQ(For("libcublas.so.13"), "libcublas.so.13");
  EXPECT_EQ(For("/opt/venv/nvidia/cu13/lib/libcublas.so.13"), "libcublas.so.13");
  EXPECT_EQ(For("../lib/libcufft.so.12"), "libcufft.so.12");
  EXPECT_EQ(For("/usr/local/cuda/lib64/libcublas.so.13.1.0.3"), "libcublas.so.13");
}

TEST_F(StandInsTest, OthersStayAsTheyAre) {
  for (const char* const other : {"libcublas.so", "libcublas.so.1", "libcublas.so.130", "libcublasLt.so.13.old.so",
                                  "libcublas.so.12", "mylibcublas.so.13", "/libcublas.so.13/libm.so.6", "", "/"})
    EXPECT_EQ(For(other), "") << other;
}

TEST_F(StandInsTest, APathThatIsTooLongIsNotUsed) {
  const auto far = std::make_unique<StandIns>();
  far->LookIn(("/" + std::string(StandIns::kLongestPath, 'x')).c_str());
  EXPECT_EQ(far->For("libcublas.so.13"), nullptr);
}

}  // namespace
}  // namespace tutti::keep_ptx
