#include "daemon/life/succession.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

// `fd`: instead of open ones.
Leaving WithTwoServers(int fd = -1) {
  const auto some_fd = [fd] { return fd >= 0 ? fd : dup(STDERR_FILENO); };
  Leaving leaving{.sockets = {some_fd(), some_fd()},
                  .lock_fd = some_fd(),
                  .of_manager = true,
                  .commands = {"set_policy share", "trace on"}};
  for (const uid_t uid : {0u, 1000u}) {
    leaving.servers.push_back({.pid = 4711,
                               .process_fd = some_fd(),
                               .channel_fd = some_fd(),
                               .rendezvous = "7",
                               .start_ticks = 99,
                               .version = 6,
                               .forced = true,
                               .silent = true,
                               .next_serial = 40,
                               .unheard = 20,
                               .plan = PlanOfUser(uid),
                               .started_ns = 12,
                               .devices = {{.name = "Device", .total_bytes = 1u << 30, .sm_count = 2}}});
  }
  leaving.connections = {{.fd = some_fd()}, {.fd = some_fd(), .hello = {1, 2, 3}}};
  return leaving;
}

TEST(SuccessionTest, WhatIsLeftIsFound) {
  const Leaving leaving = WithTwoServers();
  const auto file = WriteSuccession(leaving);
  ASSERT_TRUE(file) << file.error().text;
  const auto found = ReadSuccession(file->get());
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->inheritance.lock.get(), leaving.lock_fd);
  EXPECT_TRUE(found->inheritance.of_manager);
  ASSERT_EQ(found->inheritance.sockets.size(), 2u);
  EXPECT_EQ(found->inheritance.sockets[1].get(), leaving.sockets[1]);
  EXPECT_EQ(found->commands, leaving.commands);
  ASSERT_EQ(found->servers.size(), 2u);
  const auto& server = found->servers[1];
  EXPECT_EQ(server.plan.name, "uid_1000");
  EXPECT_EQ(server.launched.pid, 4711);
  EXPECT_EQ(server.launched.channel.get(), leaving.servers[1].channel_fd);
  EXPECT_EQ(server.launched.rendezvous, "7");
  EXPECT_EQ(server.version, 6u);
  EXPECT_EQ(server.start_ticks, 99u);
  EXPECT_TRUE(server.forced);
  EXPECT_TRUE(server.silent);
  EXPECT_EQ(server.next_serial, 40u);
  EXPECT_EQ(server.unheard, 20u);
  ASSERT_EQ(server.devices.size(), 1u);
  EXPECT_EQ(server.devices[0].sm_count, 2u);
  ASSERT_EQ(found->connections.size(), 2u);
  EXPECT_EQ(found->connections[0].socket.get(), leaving.connections[0].fd);
  EXPECT_EQ(found->connections[1].hello, leaving.connections[1].hello);
  // Nothing of it may get into the servers that are started from now on.
  EXPECT_EQ(fcntl(server.launched.channel.get(), F_GETFD), FD_CLOEXEC);
}

TEST(SuccessionTest, WhatIsCutShortIsAnError) {
  constexpr int kNotOpen = 100'000;
  const auto whole = WriteSuccession(WithTwoServers(kNotOpen));
  const off_t size = lseek(whole->get(), 0, SEEK_END);
  for (off_t kept = 0; kept < size; ++kept) {
    const auto file = WriteSuccession({});
    std::vector<uint8_t> bytes(static_cast<size_t>(kept));
    ASSERT_EQ(pread(whole->get(), bytes.data(), bytes.size(), 0), kept);
    ASSERT_EQ(ftruncate(file->get(), 0), 0);
    ASSERT_EQ(pwrite(file->get(), bytes.data(), bytes.size(), 0), kept);
    EXPECT_FALSE(ReadSuccession(file->get())) << kept << " of " << size << " bytes";
  }
}

}  // namespace
}  // namespace tutti::daemon
