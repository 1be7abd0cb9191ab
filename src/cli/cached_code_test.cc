#include "cli/cached_code.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tutti::cli {
namespace {

const std::string kEntry = std::string(63, 'a') + "0", kOther = std::string(64, 'f');

class CachedCodeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, size_t bytes) { std::ofstream(folder_ + "/" + name) << std::string(bytes, 'x'); }

  std::string folder_ = "/tmp/tutti-cached.XXXXXX";
};

TEST_F(CachedCodeTest, EntriesAreCountedAndNothingElse) {
  Write(kEntry, 100);
  Write(kOther, 20);
  Write("new-1-2", 7);
  Write("notes.txt", 7);
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/" + std::string(64, '1'));
  const auto code = LookAtCachedCode(folder_);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->entries, 2u);
  EXPECT_EQ(code->bytes, 120u);
  EXPECT_GT(code->first_used, 0);
  EXPECT_GE(code->last_used, code->first_used);
}

TEST_F(CachedCodeTest, OnlyEntriesAreRemoved) {
  Write(kEntry, 100);
  Write("notes.txt", 7);
  const auto removed = RemoveCachedCode(folder_);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->entries, 1u);
  EXPECT_EQ(removed->bytes, 100u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/" + kEntry));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/notes.txt"));
  EXPECT_EQ(LookAtCachedCode(folder_)->entries, 0u);
}

TEST_F(CachedCodeTest, AFolderThatIsNotThereIsEmptyAndALinkIsRefused) {
  EXPECT_EQ(LookAtCachedCode(folder_ + "/none")->entries, 0u);
  std::filesystem::create_directory_symlink(folder_, folder_ + "/link");
  EXPECT_FALSE(RemoveCachedCode(folder_ + "/link"));
}

}  // namespace
}  // namespace tutti::cli
