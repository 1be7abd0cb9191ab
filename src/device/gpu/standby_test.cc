#include "device/gpu/standby.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "executor/protocol/request.h"

namespace tutti::device::gpu {
namespace {

TEST(ExecutorProcess, WhatAnExecutorSaysAtItsEndIsSaidOnce) {
  const auto said = [](const char* script) {
    using namespace executor;
    const os::Spawner::Program says{.path = "/bin/sh",
                                    .arguments = {"sh", "-c", script},
                                    .environment = {},
                                    .files = {kLifelineFd, kControlFd, STDERR_FILENO},
                                    .most = 1};
    const auto link = ExecutorProcess::Start(os::Spawner::Start({says}).value());
    return link ? "" : link.error().text;
  };
  EXPECT_EQ(said("exit 1"), "an executor has ended as it started");
  EXPECT_EQ(said("echo more >&2; echo that is why >&2"), "an executor has ended as it started: that is why");
  EXPECT_EQ(said("printf 'a \\033[2J' >&2"), "an executor has ended as it started") << "not what a terminal obeys";
  EXPECT_EQ(said("head -c 1000000 /dev/zero >&2 || printf more"), "an executor has ended as it started");
}

TEST(Standby, AllWhoWaitAreToldThatNoneCanBeStarted) {
  using namespace executor;
  const os::Spawner::Program ends{.path = "/bin/false",
                                  .arguments = {"false"},
                                  .environment = {},
                                  .files = {kLifelineFd, kControlFd, STDERR_FILENO},
                                  .most = 8};
  Standby standby(os::Spawner::Start({ends}).value());
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&standby] {
      for (int take = 0; take < 20; ++take) EXPECT_FALSE(standby.Take());
    });
  }
  for (std::thread& client : clients) client.join();
}

// As a client that is killed before its turn.
TEST(Standby, WhoHasGoneWaitsForNoExecutor) {
  using namespace executor;
  const os::Spawner::Program is_slow{.path = "/bin/sh",
                                     .arguments = {"sh", "-c", "exec sleep 1"},
                                     .environment = {},
                                     .files = {kLifelineFd, kControlFd, STDERR_FILENO},
                                     .most = 8};
  Standby standby(os::Spawner::Start({is_slow}).value());
  std::stop_source gone;
  std::thread waits([&] { EXPECT_FALSE(standby.Take(gone.get_token())); });
  gone.request_stop();
  waits.join();
}

}  // namespace
}  // namespace tutti::device::gpu
