#include "daemon/files/log_keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tutti::daemon {
namespace {

class LogKeeperTest : public testing::Test {
 protected:
  LogKeeperTest() {
    char name[] = "/tmp/tutti-logs-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~LogKeeperTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name, std::ios::app) << text;
  }
  std::string Read(const std::string& name) {
    std::ifstream file(directory_ + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  bool TurnOver(const std::string& name) { return daemon::TurnOver(directory_ + "/" + name, 10); }

  std::string directory_;
};

TEST_F(LogKeeperTest, ALogThatIsFullIsKeptOnceMore) {
  Write("log", "0123456789");
  EXPECT_FALSE(TurnOver("log")) << "it is not over its limit";
  Write("log", "first");
  EXPECT_TRUE(TurnOver("log"));
  EXPECT_EQ(Read("log.old"), "0123456789first");
  EXPECT_FALSE(TurnOver("log")) << "there is none";
  Write("log", "0123456789second");
  EXPECT_TRUE(TurnOver("log"));
  EXPECT_EQ(Read("log.old"), "0123456789second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1) << "nothing else is left";
}

TEST_F(LogKeeperTest, ALogThatCannotBeRenamedBeginsAnewAllTheSame) {
  std::filesystem::create_directories(directory_ + "/log.old/in_the_way");
  Write("log", "0123456789first");
  EXPECT_FALSE(TurnOver("log"));
  EXPECT_EQ(Read("log"), "");
}

TEST_F(LogKeeperTest, WhatALinkLeadsToIsNoLog) {
  Write("precious", "0123456789precious");
  std::filesystem::create_symlink(directory_ + "/precious", directory_ + "/log");
  EXPECT_FALSE(TurnOver("log"));
  EXPECT_EQ(Read("precious"), "0123456789precious");
}

TEST_F(LogKeeperTest, TheLogsAreLookedAtByThemselves) {
  auto loop = std::move(EventLoop::Create()).value();
  setenv("TUTTI_LOG_MIB", "1", 1);
  const LogKeeper keeper(
      *loop, [this] { return std::vector{directory_ + "/a", directory_ + "/b"}; }, [&loop] { loop->Stop(); });
  unsetenv("TUTTI_LOG_MIB");
  Write("a", std::string((1 << 20) + 1, 'x'));
  Write("b", "short");
  loop->Run();
  EXPECT_EQ(Read("a.old").size(), (1u << 20) + 1);
  EXPECT_EQ(Read("b"), "short");
}

}  // namespace
}  // namespace tutti::daemon
