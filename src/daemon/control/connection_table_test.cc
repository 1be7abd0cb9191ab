#include "daemon/control/connection_table.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <list>

#include "control/command_message.h"
#include "os/close_aside.h"
#include "os/socket.h"
#include "wire/messages.h"

namespace tutti::daemon {
namespace {

constexpr size_t kMost = 8;
constexpr uint64_t kMsNs = 1'000'000;

// One user's.
Visitor AtHome(const std::string& cgroup, pid_t pid) {
  return {.pid = pid, .uid = 7, .cgroup = cgroup, .lives_here = true, .at_home = true};
}

class ConnectionTableTest : public testing::Test {
 protected:
  // Returns the peer's end.
  int Admit(Visitor visitor) {
    auto pair = std::move(*os::SocketPair());
    peers_.push_back(std::move(pair.second));
    table_.Admit(os::StrangersFd(std::move(pair.first)), std::move(visitor), {});
    return peers_.back().get();
  }
  void RunLoop(uint64_t ms) {
    loop_->After(ms * kMsNs, [this] { loop_->Stop(); });
    loop_->Run();
  }
  static bool Closed(int peer) {
    os::AwaitClosed();
    pollfd there{peer, POLLIN, 0};
    return poll(&there, 1, 0) == 1 && (there.revents & POLLHUP) != 0;
  }
  static void Ask(int peer, const std::string& command) {
    ASSERT_TRUE(os::Send(peer, control::PackCommand(1, command)));
  }

  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::Create());
  LogBudget log_;
  std::list<os::Fd> peers_;
  std::vector<std::string> commands_;
  std::vector<Reply> replies_;
  size_t clients_ = 0;
  ConnectionTable table_{*loop_,
                         log_,
                         {.client_arrived = [this](const WaitingClient&) { ++clients_; },
                          .run_command =
                              [this](const Visitor&, const std::vector<std::string>& words, Reply reply) {
                                commands_.push_back(words.at(0));
                                replies_.push_back(std::move(reply));
                              }},
                         kMost};
};

TEST_F(ConnectionTableTest, ANewcomerGetsThePlaceOfWhoHoldsMost) {
  const int other = Admit(AtHome("/b", 2));
  const int oldest = Admit(AtHome("/a", 1));
  for (size_t i = 0; i < kMost; ++i) Admit(AtHome("/a", 1));
  EXPECT_TRUE(Closed(oldest));
  EXPECT_FALSE(Closed(other));
  EXPECT_EQ(table_.sockets().size(), kMost);
}

TEST_F(ConnectionTableTest, AdministratorsHavePlacesOfTheirOwn) {
  const int administrator = Admit(Ourselves());
  for (size_t i = 0; i < 2 * kMost; ++i) Admit(AtHome("/a", 1));
  for (size_t i = 0; i < kMost; ++i) table_.MakeRoom();
  EXPECT_FALSE(Closed(administrator));
  table_.MakeRoom();
  EXPECT_TRUE(Closed(administrator));
}

TEST_F(ConnectionTableTest, IsBusyUntilAShellHasItsAnswer) {
  const int shell = Admit(AtHome("/a", 1));
  EXPECT_FALSE(table_.busy());
  Ask(shell, "ps");
  RunLoop(5);
  ASSERT_EQ(commands_, std::vector<std::string>{"ps"});
  EXPECT_TRUE(table_.busy());
  replies_.front().Nothing();
  EXPECT_FALSE(table_.busy());
}

TEST_F(ConnectionTableTest, WhoHasNotSpokenIsNoShell) {
  const int silent = Admit(AtHome("/a", 1)), shell = Admit(AtHome("/a", 2));
  Ask(shell, "ps");
  RunLoop(5);
  table_.CloseShells();
  EXPECT_TRUE(Closed(shell));
  EXPECT_FALSE(Closed(silent));
}

TEST_F(ConnectionTableTest, WithAClaimGoWhoCameByIt) {
  const int other = Admit(AtHome("/a", 1));
  const int guest = Admit({.pid = 2, .uid = 7, .cgroup = "/b", .claim = "one"});
  table_.CloseAllOf("one");
  EXPECT_TRUE(Closed(guest));
  EXPECT_FALSE(Closed(other));
}

}  // namespace
}  // namespace tutti::daemon
