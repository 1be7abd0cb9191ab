#include "os/signal_bell.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <thread>

namespace tutti::os {
namespace {

TEST(SignalBell, TellsOfEachSignalInOrder) {
  auto bell = SignalBell::Create({SIGUSR1, SIGUSR2});
  ASSERT_TRUE(bell);
  EXPECT_EQ(bell->Next(), 0);
  raise(SIGUSR1);
  raise(SIGUSR2);
  EXPECT_EQ(bell->Next(), SIGUSR1);
  EXPECT_EQ(bell->Next(), SIGUSR2);
  EXPECT_EQ(bell->Next(), 0);
}

TEST(SignalBell, WakesWhoWaitsForItAndForNoOtherSignal) {
  auto bell = SignalBell::Create({SIGUSR1});
  ASSERT_TRUE(bell);
  pollfd ring{bell->fd(), POLLIN, 0};
  raise(SIGURG);
  EXPECT_EQ(poll(&ring, 1, 0), 0);
  std::thread([] { raise(SIGUSR1); }).join();
  EXPECT_EQ(poll(&ring, 1, 5000), 1);
}

}  // namespace
}  // namespace tutti::os
