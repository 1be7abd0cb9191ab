#include "base/log_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tutti::log {
namespace {

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() {
    char name[] = "/tmp/tutti-log-XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/precious") << "precious";
  }
  ~LogFileTest() override { std::filesystem::remove_all(directory_); }

  // Whether a line can be written to the log.
  bool Takes(const std::string& path) {
    const int fd = OpenFile(path);
    if (fd < 0) return false;
    const bool written = write(fd, "line\n", 5) == 5;
    close(fd);
    return written;
  }

  std::string directory_;
};

TEST_F(LogFileTest, ALogIsMadeAndAppendedTo) {
  EXPECT_TRUE(Takes(directory_ + "/log"));
  EXPECT_TRUE(Takes(directory_ + "/log"));
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/log"), 10u);
}

TEST_F(LogFileTest, ALinkDoesNotLeadALogElsewhere) {
  std::filesystem::create_symlink(directory_ + "/precious", directory_ + "/log");
  EXPECT_FALSE(Takes(directory_ + "/log"));
  EXPECT_EQ(errno, ELOOP);
  std::filesystem::create_hard_link(directory_ + "/precious", directory_ + "/second");
  EXPECT_FALSE(Takes(directory_ + "/second"));
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/precious"), 8u);
}

TEST_F(LogFileTest, AFifoThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((directory_ + "/log").c_str(), 0666), 0);
  EXPECT_FALSE(Takes(directory_ + "/log"));
}

TEST_F(LogFileTest, AFileOfSomebodyElseIsNoLog) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  ASSERT_EQ(chown((directory_ + "/precious").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(Takes(directory_ + "/precious"));
}

TEST_F(LogFileTest, DevicesAreLogsToo) { EXPECT_TRUE(Takes("/dev/null")); }

}  // namespace
}  // namespace tutti::log
