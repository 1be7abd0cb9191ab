#include "command_line/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace tutti::command_line {
namespace {

class Files : public testing::Test {
 protected:
  ~Files() override { std::remove(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "/files_test." + std::to_string(getpid());
};

TEST_F(Files, ReadWhatWasWritten) {
  for (const size_t size : {0, 1, 65536, 200'001}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    ASSERT_TRUE(WriteOutput(path_, bytes));
    const auto read = ReadInput(path_);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, bytes) << size;
  }
}

TEST_F(Files, ErrorsNameTheFile) {
  const auto missing = ReadInput(path_);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().text, testing::HasSubstr(path_));
  const auto directory = ReadInput("/");
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().text, testing::HasSubstr("Is a directory"));
  const auto nowhere = WriteOutput(path_ + "/file", {});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().text, testing::HasSubstr(path_));
}

// Small writes fit into the stream's own memory: that they are lost shows as it is closed.
TEST_F(Files, AFullDeviceIsNoSuccess) {
  for (const size_t size : {1, 1 << 20}) {
    const auto full = WriteOutput("/dev/full", std::vector<uint8_t>(size));
    ASSERT_FALSE(full) << size;
    EXPECT_THAT(full.error().text, testing::HasSubstr("/dev/full"));
  }
}

}  // namespace
}  // namespace tutti::command_line
