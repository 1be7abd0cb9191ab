// What a clock makes of a driver's times: floats of milliseconds between two events, by a clock that is not ours.
#include "executor/event_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "cuda/result.h"

namespace tutti::executor {
namespace {

using cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
using cuda::CUDA_SUCCESS;
using cuda::CUevent;
using cuda::CUresult;

struct TimedDriver {
  std::map<const void*, double> reached_ns;  // by the device's clock
  std::set<const void*> events;
  std::optional<float> says;  // whatever it should say
  CUresult status = CUDA_SUCCESS;
  uintptr_t last = 0;
};
TimedDriver* timed_driver = nullptr;

Vendor MakeTimedVendor() {
  Vendor vendor;
  vendor.cuGetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_OF_TEST";
    return CUDA_SUCCESS + 0;
  };
  vendor.cuEventCreate = [](CUevent* out, unsigned flags) -> CUresult {
    EXPECT_EQ(flags, 0u) << "they have times";
    *out = reinterpret_cast<CUevent>(++timed_driver->last);
    timed_driver->events.insert(*out);
    return CUDA_SUCCESS;
  };
  vendor.cuEventDestroy_v2 = [](CUevent event) -> CUresult {
    EXPECT_EQ(timed_driver->events.erase(event), 1u);
    return CUDA_SUCCESS;
  };
  vendor.cuEventElapsedTime = [](float* ms, CUevent from, CUevent to) -> CUresult {
    const double passed_ns = timed_driver->reached_ns.at(to) - timed_driver->reached_ns.at(from);
    *ms = timed_driver->says.value_or(static_cast<float>(passed_ns / 1e6));
    return timed_driver->status;
  };
  return vendor;
}

class EventClockTest : public testing::Test {
 protected:
  static constexpr uint64_t kUs = 1'000, kMs = 1'000'000, kS = 1'000'000'000;
  static constexpr uint64_t kBegin = 1'000'000 * kS;

  EventClockTest() { timed_driver = &driver_; }
  ~EventClockTest() override {
    EXPECT_TRUE(clock_.Close());
    EXPECT_TRUE(driver_.events.empty());
    timed_driver = nullptr;
  }

  // What is told of an event that was reached so long after the beginning, and is seen somewhat later.
  uint64_t Told(uint64_t after_ns, uint64_t seen_later_ns = 20 * kUs) {
    const CUevent event = clock_.Take().value();
    driver_.reached_ns[event] = static_cast<double>(after_ns) * device_rate_;
    return clock_.Read(event, kBegin + after_ns - 5 * kUs, kBegin + after_ns + seen_later_ns).value();
  }
  static int64_t Difference(uint64_t one, uint64_t other) { return static_cast<int64_t>(one - other); }

  TimedDriver driver_;
  double device_rate_ = 1;
  const Vendor vendor_ = MakeTimedVendor();
  EventClock clock_{vendor_};
};

TEST_F(EventClockTest, TheFirstEventIsWhenItWasSeenAndTheNextAreWhatTheDriverSaysFromThere) {
  EXPECT_EQ(Told(0, 300 * kUs), kBegin + 300 * kUs);
  EXPECT_EQ(Told(10 * kMs, 0), kBegin + 10 * kMs + 300 * kUs);
  EXPECT_EQ(Told(10 * kMs + 7 * kUs, 400 * kUs), kBegin + 10 * kMs + 307 * kUs) << "however late it is seen";
}

TEST_F(EventClockTest, ShortTimesAreRightHoursAfterTheFirstEventThoughTheClocksPart) {
  for (const double rate : {1 + 2e-5, 1 - 2e-5}) {
    device_rate_ = rate;
    const uint64_t first_ns = driver_.reached_ns.empty() ? 0 : 20'000 * kS;
    for (uint64_t at_ns = first_ns; at_ns < first_ns + 10'000 * kS; at_ns += 301 * kMs) {
      const uint64_t begin = Told(at_ns), end = Told(at_ns + 10 * kUs);
      ASSERT_NEAR(Difference(end, begin), 10 * kUs, 100) << at_ns;
      ASSERT_NEAR(Difference(begin, kBegin + at_ns), 0, 100 * kUs) << at_ns << ": nor does it leave our clock";
    }
  }
  EXPECT_LE(driver_.events.size(), 3u);
}

TEST_F(EventClockTest, NoTimeIsWrongByMoreThanATenThousandthWhileItIsCorrected) {
  Told(0, 10 * kMs);  // seen that late: ahead of our clock
  uint64_t last = 0;
  for (uint64_t at_ns = kS; at_ns < 200 * kS; at_ns += 100 * kMs) {
    const uint64_t told = Told(at_ns);
    if (last != 0) {
      ASSERT_NEAR(Difference(told, last), 100 * kMs, 11 * kUs) << at_ns;
    }
    last = told;
  }
  EXPECT_NEAR(Difference(last, kBegin + 200 * kS - 100 * kMs), 0, 100 * kUs) << "it is over";
}

TEST_F(EventClockTest, AfterALongTimeWithoutEventsItIsCorrectedAtOnce) {
  device_rate_ = 1 + 5e-5;
  Told(0);
  const uint64_t hours_ns = 10'000 * kS;
  EXPECT_NEAR(Difference(Told(hours_ns), kBegin + hours_ns), 0, 25 * kUs);
  EXPECT_NEAR(Difference(Told(hours_ns + kMs), kBegin + hours_ns + kMs), 0, 25 * kUs);
}

TEST_F(EventClockTest, AnEventOfAnotherStreamMayHaveBeenReachedBeforeTheLastOne) {
  Told(0);
  const uint64_t later = Told(2 * kS), earlier = Told(2 * kS - 30 * kUs, 90 * kUs);
  EXPECT_NEAR(Difference(later, earlier), 30 * kUs, 100);
}

TEST_F(EventClockTest, WhatIsNoTimeIsReplacedByOurs) {
  Told(0);
  for (const float says : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(), 3e38f, -1e15f}) {
    driver_.says = says;
    EXPECT_EQ(Told(kS), kBegin + kS + 20 * kUs) << says;
  }
}

TEST_F(EventClockTest, ADriversErrorIsSaid) {
  Told(0);
  driver_.status = CUDA_ERROR_ILLEGAL_ADDRESS;
  const CUevent event = clock_.Take().value();
  driver_.reached_ns[event] = 0;
  const auto told = clock_.Read(event, kBegin, kBegin);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, CUDA_ERROR_ILLEGAL_ADDRESS);
  clock_.GiveBack(event);
}

}  // namespace
}  // namespace tutti::executor
