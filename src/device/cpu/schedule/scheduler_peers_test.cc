// A server's part of the device, beside servers that say what they want: the test acts as these, the SMs and the clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMsNs = 1'000'000;

uint64_t peers_clock_ns;

struct FakePeers final : TimePeers {
  void Say(const TimeDemand& demand, uint64_t) override { said.push_back(demand); }
  size_t Hear(std::span<TimeDemand> room, uint64_t) const override {
    std::ranges::copy(others, room.begin());
    return others.size();
  }
  std::vector<TimeDemand> others, said;
};

class PartTest : public testing::Test {
 protected:
  PartTest() : ticker_([](uint64_t) { return kNever; }), scheduler_({.sms = 2}, &ticker_, &pool_, &Now) {
    peers_clock_ns = 1'000'000'000;
    for (uint32_t i = 0; i < 2; ++i) scheduler_.sm(i).thread = &threads_[i];
    scheduler_.SetPeers(&peers_);
    scheduler_.AddShare(&share_);
    scheduler_.SetLimits(&share_, {});
    habits_.ns = 1'000'000;
    task_.share = &share_;
    task_.total_blocks = 1'000'000;
    task_.urgency = 5;
    task_.habits = &habits_;
  }
  ~PartTest() override {
    std::vector<Task*> dropped;
    scheduler_.Drop(&share_, &dropped);
    scheduler_.RemoveShare(&share_);
  }
  static uint64_t Now() { return peers_clock_ns; }

  void Submit() { scheduler_.Perform(scheduler_.Submit(&task_)); }
  bool Take(uint32_t sm) {
    uint32_t seen;
    return scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen, &retry_at_ns_);
  }
  void Finish(uint32_t sm) {
    scheduler_.Finish(scheduler_.sm(sm), chunks_[sm], {.finished = chunks_[sm].count, .end_ns = peers_clock_ns});
  }
  // Both SMs run what they may for so long; the SM time that they had.
  uint64_t RunFor(uint64_t ns) {
    uint64_t ran_ns = 0;
    for (const uint64_t end_ns = peers_clock_ns + ns; peers_clock_ns < end_ns;) {
      const bool took[] = {Take(0), Take(1)};
      peers_clock_ns += kMsNs;
      for (uint32_t sm = 0; sm < 2; ++sm) {
        if (took[sm]) Finish(sm);
        ran_ns += took[sm] ? kMsNs : 0;
      }
    }
    return ran_ns;
  }

  Ticker ticker_;
  BlockPool pool_;
  FakePeers peers_;
  guest::GuestThread threads_[2];
  Scheduler scheduler_;
  SpaceShare share_;
  Task task_;
  BlockHabits habits_;
  Chunk chunks_[2];
  uint64_t retry_at_ns_ = 0;
};

TEST_F(PartTest, IsAllWhileNobodyElseWantsAnything) {
  Submit();
  EXPECT_EQ(RunFor(100 * kMsNs), 200 * kMsNs);
}

TEST_F(PartTest, IsByWeightWhileOthersWantAll) {
  for (const auto& [weight, percent] : {std::pair(100.0, 50.0), {300.0, 25.0}, {25.0, 80.0}}) {
    peers_.others = {{.weight = weight, .sms = 2}};
    if (task_.ready_ns == 0) Submit();
    RunFor(20 * kMsNs);  // until it has heard of it
    EXPECT_NEAR(static_cast<double>(RunFor(1000 * kMsNs)) / (20.0 * kMsNs), percent, 2);
  }
}

TEST_F(PartTest, IsWhatOthersDoNotWant) {
  peers_.others = {{.weight = 100, .sms = 0.4}};
  Submit();
  RunFor(20 * kMsNs);
  EXPECT_NEAR(static_cast<double>(RunFor(1000 * kMsNs)) / (20.0 * kMsNs), 80, 2);
  peers_.others.clear();
  RunFor(20 * kMsNs);
  EXPECT_EQ(RunFor(100 * kMsNs), 200 * kMsNs);
}

TEST_F(PartTest, ComesFromWhatEachSaysOfItself) {
  Submit();
  RunFor(20 * kMsNs);
  ASSERT_FALSE(peers_.said.empty());
  EXPECT_EQ(peers_.said.back().weight, 100);
  EXPECT_NEAR(peers_.said.back().sms, 2, 0.01);
  scheduler_.SetLimits(&share_, {.percentage = 30});
  RunFor(20 * kMsNs);
  EXPECT_EQ(peers_.said.back().weight, 30);
  EXPECT_LE(peers_.said.back().sms, 1.1) << "more than it may use";
}

}  // namespace
}  // namespace tutti::device::cpu
