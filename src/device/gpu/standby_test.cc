#include "device/gpu/standby.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "executor/protocol/request.h"

namespace tutti::device::gpu {
namespace {

TEST(Standby, AllWhoWaitAreToldThatNoneCanBeStarted) {
  using namespace executor;
  const os::Spawner::Program ends{.path = "/bin/false",
                                  .arguments = {"false"},
                                  .environment = {},
                                  .files = {kLifelineFd, kSocketFd, kExchangeFd, kBellFd, STDERR_FILENO},
                                  .most = 8};
  const os::Fd bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Standby standby(os::Spawner::Start({ends}).value(), bell.get());
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&standby] {
      for (int take = 0; take < 20; ++take) EXPECT_FALSE(standby.Take());
    });
  }
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace tutti::device::gpu
