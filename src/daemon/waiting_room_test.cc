#include "daemon/waiting_room.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

WaitingClient Of(uid_t uid, const std::string& cgroup = "/", pid_t pid = 1) {
  return {.peer = {.pid = pid, .uid = uid, .cgroup = cgroup}, .hello = {}, .connection = {}, .route = {}};
}

TEST(WaitingRoom, AFloodOfOneUserDelaysAnotherByOneClient) {
  WaitingRoom room;
  for (pid_t pid = 1; pid <= 1000; ++pid) room.Add(Of(1, "/", pid));
  room.Add(Of(2));
  const auto clients = room.Empty();
  ASSERT_EQ(clients.size(), 1001u);
  EXPECT_EQ(clients[1].peer.uid, 2u);
}

TEST(WaitingRoom, AFloodOfOneContainerDelaysAnotherOfTheSameUserByOneClient) {
  WaitingRoom room;
  for (pid_t pid = 1; pid <= 100; ++pid) room.Add(Of(0, "/pod/a", pid));
  room.Add(Of(0, "/pod/b", 200));
  EXPECT_EQ(room.Empty()[1].peer.cgroup, "/pod/b");
}

TEST(WaitingRoom, AProcessDelaysTheOthersOfItsCgroupByOneClient) {
  WaitingRoom room;
  for (int i = 0; i < 100; ++i) room.Add(Of(0, "/pod/a", 1));
  room.Add(Of(0, "/pod/a", 2));
  EXPECT_EQ(room.Empty()[1].peer.pid, 2);
}

TEST(WaitingRoom, WhoseClientsAreAlikeComesInAsTheyArrived) {
  WaitingRoom room;
  for (uint32_t i = 0; i < 5; ++i) {
    WaitingClient client = Of(1);
    client.hello.claimed_pid = i;
    room.Add(std::move(client));
  }
  const auto clients = room.Empty();
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(clients[i].hello.claimed_pid, i);
}

TEST(WaitingRoom, WhenItIsFullWhoHoldsMostOfItMakesRoom) {
  WaitingRoom room;
  for (size_t i = 0; i < WaitingRoom::kMostClients; ++i) EXPECT_FALSE(room.Add(Of(1, "/", static_cast<pid_t>(i + 1))));
  const auto gone = room.Add(Of(2));
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->peer.uid, 1u);
  EXPECT_EQ(room.Empty().size(), WaitingRoom::kMostClients);
  EXPECT_TRUE(room.Empty().empty());
}

}  // namespace
}  // namespace tutti::daemon
