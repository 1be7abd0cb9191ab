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

constexpr pid_t kFlood = 100;  // and above
constexpr pid_t kOther = 999;

// One user's, its cgroup not asked for.
Visitor Newcomer(pid_t pid) { return {.pid = pid, .uid = 7, .lives_here = true, .at_home = true}; }

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
  std::function<void()> on_command_;
  size_t clients_ = 0, learned_ = 0;
  bool accounting_ = false;
  ConnectionTable table_{*loop_,
                         log_,
                         {.client_arrived = [this](const WaitingClient&) { ++clients_; },
                          .run_command =
                              [this](const Visitor&, const Route&, const std::vector<std::string>& words, Reply reply) {
                                commands_.push_back(words.at(0));
                                replies_.push_back(std::move(reply));
                                if (on_command_) on_command_();
                              },
                          .needs_cgroups = [this] { return accounting_; },
                          .learn_cgroup =
                              [this](Visitor& visitor, int) {
                                if (!visitor.cgroup) ++learned_;
                                if (!visitor.cgroup) visitor.cgroup = visitor.pid < kOther ? "/a" : "/b";
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

TEST_F(ConnectionTableTest, AFloodOfOneCgroupTakesNoPlaceOfAnother) {
  // Each of a process of its own, so only the cgroup tells them from the other.
  const auto flood = [this](size_t connections) {
    for (size_t i = 0; i < connections; ++i) Admit(Newcomer(kFlood + static_cast<pid_t>(i)));
  };
  flood(kMost - 1);
  const int other = Admit(Newcomer(kOther));
  flood(3 * kMost);
  EXPECT_FALSE(Closed(other));
}

TEST_F(ConnectionTableTest, WhoKeepsAPlaceForAMomentIsCountedByCgroup) {
  const int other = Admit(Newcomer(kOther));
  for (pid_t i = 0; i < 3; ++i) Admit(Newcomer(kFlood + i));
  EXPECT_EQ(learned_, 0u);
  RunLoop(40);
  EXPECT_EQ(learned_, 4u);
  // Counted by user alone the four would hold most, and of them the process with the highest number would go.
  for (size_t i = 0; i < kMost - 4; ++i) Admit(AtHome(i % 2 == 0 ? "/c" : "/d", 2));
  for (size_t i = 0; i < 2; ++i) Admit(AtHome("/e", 3));
  EXPECT_FALSE(Closed(other));
}

TEST_F(ConnectionTableTest, WhenHalfOfThePlacesAreTakenACgroupIsLearnedAtOnce) {
  for (pid_t pid = 2; pid < 2 + static_cast<pid_t>(kMost / 2) + 1; ++pid) Admit(Newcomer(pid));
  EXPECT_EQ(learned_, 0u);
  Admit(Newcomer(kFlood));
  EXPECT_EQ(learned_, 1u);
}

TEST_F(ConnectionTableTest, WhereMemoryIsAccountedByCgroupItIsLearnedAtOnce) {
  accounting_ = true;
  Admit(Newcomer(2));
  EXPECT_EQ(learned_, 1u);
}

TEST_F(ConnectionTableTest, WhoHasSpokenIsHeardAtOnce) {
  auto pair = std::move(*os::SocketPair());
  Ask(pair.second.get(), "ps");
  table_.Admit(os::StrangersFd(std::move(pair.first)), Newcomer(2), {});
  EXPECT_EQ(commands_, std::vector<std::string>{"ps"});
  replies_.front().Line("answer");
  pollfd answered{pair.second.get(), POLLIN, 0};
  EXPECT_EQ(poll(&answered, 1, 0), 1);
  Ask(pair.second.get(), "report");
  RunLoop(5);
  EXPECT_EQ(commands_, (std::vector<std::string>{"ps", "report"}));
}

TEST_F(ConnectionTableTest, WhoIsTakenOverIsHeardByTheLoopOnly) {
  auto command = std::move(*os::SocketPair()), hello = std::move(*os::SocketPair());
  Ask(command.second.get(), "quit");
  ByteWriter body;
  wire::Put(body, wire::Hello{});
  ASSERT_TRUE(os::Send(hello.second.get(), wire::Pack(wire::MessageKind::kHello, 1, std::move(body))));
  table_.Admit(os::StrangersFd(std::move(command.first)), Newcomer(2), {}, true);
  table_.Admit(os::StrangersFd(std::move(hello.first)), Newcomer(3), {}, true);
  EXPECT_TRUE(commands_.empty());
  EXPECT_EQ(clients_, 0u);
  RunLoop(5);
  EXPECT_EQ(commands_, std::vector<std::string>{"quit"});
  EXPECT_EQ(clients_, 1u);
}

TEST_F(ConnectionTableTest, WhoseFirstCommandEndsItsConnectionIsHeardNoMore) {
  auto pair = std::move(*os::SocketPair());
  on_command_ = [this] { table_.CloseShells(); };
  Ask(pair.second.get(), "claim");
  Ask(pair.second.get(), "ps");
  table_.Admit(os::StrangersFd(std::move(pair.first)), Newcomer(2), {});
  replies_.front().Nothing();
  RunLoop(5);
  EXPECT_EQ(commands_.size(), 1u);
  EXPECT_TRUE(Closed(pair.second.get()));
}

}  // namespace
}  // namespace tutti::daemon
