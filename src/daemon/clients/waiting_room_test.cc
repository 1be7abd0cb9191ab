#include "daemon/clients/waiting_room.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

constexpr size_t kMost = 4096;

WaitingClient Of(uid_t uid, const std::string& cgroup = "/", pid_t pid = 1) {
  return {
      .peer = {.pid = pid, .uid = uid, .cgroup = cgroup, .at_home = true}, .hello = {}, .connection = {}, .route = {}};
}

WaitingClient OfContainer(const std::string& cgroup, uid_t uid, pid_t pid = 1) {
  return {.peer = {.pid = pid, .uid = uid, .cgroup = cgroup}, .hello = {}, .connection = {}, .route = {}};
}

TEST(WaitingRoom, AFloodOfOneUserDelaysAnotherByOneClient) {
  WaitingRoom room(kMost);
  for (pid_t pid = 1; pid <= 1000; ++pid) room.Add("s", Of(1, "/", pid));
  room.Add("s", Of(2));
  const auto clients = room.Empty("s");
  ASSERT_EQ(clients.size(), 1001u);
  EXPECT_EQ(clients[1].peer.uid, 2u);
}

TEST(WaitingRoom, AFloodOfOneContainerDelaysAnotherOfTheSameUserByOneClient) {
  WaitingRoom room(kMost);
  for (pid_t pid = 1; pid <= 100; ++pid) room.Add("s", OfContainer("/pod/a", 0, pid));
  room.Add("s", OfContainer("/pod/b", 0, 200));
  EXPECT_EQ(room.Empty("s")[1].peer.cgroup, "/pod/b");
}

TEST(WaitingRoom, AContainerOfManyUserNumbersDelaysOthersByOneClient) {
  WaitingRoom room(kMost);
  for (uid_t uid = 1; uid <= 1000; ++uid) room.Add("s", OfContainer("/pod/a", uid));
  room.Add("s", Of(2000));
  const auto clients = room.Empty("s");
  EXPECT_TRUE(clients[0].peer.uid == 2000 || clients[1].peer.uid == 2000);
}

TEST(WaitingRoom, AProcessDelaysTheOthersOfItsCgroupByOneClient) {
  WaitingRoom room(kMost);
  for (int i = 0; i < 100; ++i) room.Add("s", OfContainer("/pod/a", 0, 1));
  room.Add("s", OfContainer("/pod/a", 0, 2));
  EXPECT_EQ(room.Empty("s")[1].peer.pid, 2);
}

TEST(WaitingRoom, WhoseClientsAreAlikeComesInAsTheyArrived) {
  WaitingRoom room(kMost);
  for (uint32_t i = 0; i < 5; ++i) {
    WaitingClient client = Of(1);
    client.hello.claimed_pid = i;
    room.Add("s", std::move(client));
  }
  const auto clients = room.Empty("s");
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(clients[i].hello.claimed_pid, i);
}

TEST(WaitingRoom, WhenItIsFullWhoHoldsMostOfItMakesRoom) {
  WaitingRoom room(kMost);
  for (size_t i = 0; i < kMost; ++i) EXPECT_FALSE(room.Add("s", Of(1, "/", static_cast<pid_t>(i + 1))));
  const auto gone = room.Add("s", Of(2));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->peer.uid, 1u);
  EXPECT_EQ(room.Empty("s").size(), kMost);
  EXPECT_TRUE(room.empty());
}

TEST(WaitingRoom, ItIsNoLargerForWhoWaitsForManyServers) {
  WaitingRoom room(10);
  for (uid_t uid = 1; uid <= 10; ++uid) EXPECT_FALSE(room.Add(std::to_string(uid), OfContainer("/pod/a", uid)));
  const auto gone = room.Add("2000", Of(2000));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->peer.cgroup, "/pod/a");
  EXPECT_EQ(room.Empty("2000").size(), 1u);
  EXPECT_EQ(room.Take([](const std::string&, const WaitingClient&) { return true; }).size(), 9u);
}

}  // namespace
}  // namespace tutti::daemon
