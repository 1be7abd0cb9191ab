#include "device/cpu/stolen_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace tutti::device::cpu {
namespace {

TEST(StolenTime, IsWallTimeOfNeitherWorkNorSleep) {
  constexpr auto kWhile = std::chrono::milliseconds(20);
  constexpr uint64_t kMostNs = 10'000'000;  // of processor time to sleep for a while
  StolenTime time;
  time.Take(NowNs());
  std::this_thread::sleep_for(kWhile);  // as if another thread had the core
  EXPECT_GE(time.Take(NowNs()), std::chrono::nanoseconds(kWhile).count() - kMostNs);
  const uint64_t begin_ns = NowNs();
  std::this_thread::sleep_for(kWhile);
  const uint64_t slept_ns = NowNs() - begin_ns;
  time.Slept(slept_ns);
  const uint64_t now_ns = NowNs();
  EXPECT_LE(time.Take(now_ns), now_ns - begin_ns - slept_ns + kMostNs);
}

}  // namespace
}  // namespace tutti::device::cpu
