// What clients get of a GPU's time: the test acts as the GPU, which takes turns between those that have work there, and
// as the clock.
#include "device/gpu/time_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/clock.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs;

// A client with one stream, and always more kernels than it is given.
struct Hungry {
  explicit Hungry(double percentage, uint64_t kernel_time_ns) : kernel_ns(kernel_time_ns) {
    gate.SetPercentage(percentage, 0);
  }
  TimeGate gate;
  const uint64_t kernel_ns;
  uint64_t ahead = 0, most_ahead = 0;
  double of_kernel_ns = 0;  // that the first of these has run
  double had_ns = 0;
};

// What each has of the time between one second and eleven. As the pilot does, it looks every 20 us.
std::vector<double> PercentOf(std::span<Hungry> clients) {
  constexpr uint64_t kStepNs = 20 * kUs, kFromNs = 1000 * kMs, kToNs = 11'000 * kMs;
  for (uint64_t now_ns = kStepNs; now_ns <= kToNs; now_ns += kStepNs) {
    const auto busy = std::ranges::count_if(clients, [](const Hungry& client) { return client.ahead != 0; });
    for (Hungry& client : clients) {
      if (client.ahead != 0) {
        const double part_ns = static_cast<double>(kStepNs) / static_cast<double>(busy);
        client.of_kernel_ns += part_ns;
        if (now_ns > kFromNs) client.had_ns += part_ns;
        client.gate.Spend(static_cast<uint64_t>(part_ns), now_ns);
        const auto done =
            std::min<uint64_t>(static_cast<uint64_t>(client.of_kernel_ns) / client.kernel_ns, client.ahead);
        client.of_kernel_ns -= static_cast<double>(done * client.kernel_ns);
        client.ahead -= done;
        client.gate.NoteDone(done);
      }
      client.gate.Look(now_ns);
      client.ahead = std::max<uint64_t>(client.ahead, client.gate.most_ahead());
      if (now_ns > kFromNs) client.most_ahead = std::max(client.most_ahead, client.ahead);
    }
  }
  std::vector<double> percent;
  for (const Hungry& client : clients) percent.push_back(100 * client.had_ns / (kToNs - kFromNs));
  return percent;
}

TEST(TimeGate, APercentageHoldsForKernelsOfAnyLength) {
  for (const uint64_t kernel_ns : {40 * kUs, 700 * kUs, 30 * kMs}) {
    Hungry alone[] = {Hungry(20, kernel_ns)};
    EXPECT_NEAR(PercentOf(alone)[0], 20, 0.4) << kernel_ns;
    Hungry both[] = {Hungry(30, kernel_ns), Hungry(70, kernel_ns)};
    const auto percent = PercentOf(both);
    EXPECT_NEAR(percent[0], 30, 0.6) << kernel_ns;
    EXPECT_NEAR(percent[1], 70, 1.4) << kernel_ns;
  }
}

TEST(TimeGate, OnesRestIsTheOthers) {
  Hungry clients[] = {Hungry(20, kMs), Hungry(100, kMs)};
  const auto percent = PercentOf(clients);
  EXPECT_NEAR(percent[0], 20, 0.4);
  EXPECT_NEAR(percent[1], 80, 0.4);
}

TEST(TimeGate, LittleIsAheadOfWhoHasALimitAndMuchOfWhoHasNone) {
  Hungry clients[] = {Hungry(50, 100 * kUs), Hungry(50, 10 * kMs), Hungry(100, kMs)};
  PercentOf(clients);
  EXPECT_LE(clients[0].most_ahead, 2 * TimeGate::kAheadNs / (100 * kUs)) << "beside two others a kernel takes longer";
  EXPECT_EQ(clients[1].most_ahead, TimeGate::kLeastAhead);
  EXPECT_EQ(clients[2].most_ahead, TimeGate::kMostAhead);
}

TEST(TimeGate, ALimitChangesLive) {
  TimeGate gate;
  gate.SetPercentage(100, 0);
  EXPECT_FALSE(gate.Spend(10 * kMs, 10 * kMs));
  EXPECT_EQ(gate.most_ahead(), TimeGate::kMostAhead);
  gate.SetPercentage(10, 10 * kMs);
  EXPECT_TRUE(gate.Spend(kMs, 11 * kMs));
  EXPECT_EQ(gate.most_ahead(), 0u);
  EXPECT_GT(gate.opens_at_ns(), 11 * kMs);
  gate.SetPercentage(100, 12 * kMs);
  EXPECT_EQ(gate.most_ahead(), TimeGate::kMostAhead);
  EXPECT_EQ(gate.opens_at_ns(), kNever);
}

TEST(TimeGate, WhoYieldsIsGivenNothing) {
  TimeGate gate;
  gate.SetPercentage(100, 0);
  gate.SetBelowNormal(true);
  EXPECT_EQ(gate.most_ahead(), TimeGate::kLeastAhead) << "what is ahead of it cannot be held back";
  gate.SetYields(true);
  EXPECT_EQ(gate.most_ahead(), 0u);
  gate.SetYields(false);
  gate.SetBelowNormal(false);
  EXPECT_EQ(gate.most_ahead(), TimeGate::kMostAhead);
}

TEST(TimeGate, IsSaidToStallWhenNothingEndsForLong) {
  TimeGate gate;
  gate.SetPercentage(10, 0);
  gate.Spend(TimeGate::kStallNs, 100 * kMs);
  EXPECT_FALSE(gate.stalled());
  gate.Spend(kMs, 101 * kMs);
  EXPECT_TRUE(gate.stalled());
  gate.NoteGivenWhileClosed();
  EXPECT_FALSE(gate.stalled()) << "one at a time";
  gate.Spend(TimeGate::kStallNs + kMs, 200 * kMs);
  gate.NoteDone(1);
  EXPECT_FALSE(gate.stalled());
}

TEST(TimeGate, IsSaidToStallBeforeAKernelLimitEndsTheProgram) {
  TimeGate gate;
  gate.SetPercentage(10, 0);
  gate.SetKernelLimit(20 * kMs);
  gate.Spend(11 * kMs, 100 * kMs);
  EXPECT_TRUE(gate.stalled());
  gate.NoteGivenWhileClosed();
  gate.SetKernelLimit(0);
  gate.Spend(11 * kMs, 200 * kMs);
  EXPECT_FALSE(gate.stalled());
}

TEST(TimeGate, CopiesMakeNoKernelShorter) {
  TimeGate gate;
  gate.SetPercentage(50, 0);
  gate.Spend(10 * kMs, 100 * kMs);
  gate.NoteDone(1);
  for (int i = 0; i < 1000; ++i) gate.NoteDone(0);
  gate.Look(10'000 * kMs);
  EXPECT_EQ(gate.most_ahead(), TimeGate::kLeastAhead) << "a kernel takes 10 ms";
}

TEST(TimeGate, CopiesThatEndDoNotHideThatItStalls) {
  TimeGate gate;
  gate.SetPercentage(10, 0);
  for (int i = 0; i < 6; ++i) {
    gate.Spend(10 * kMs, 100 * kMs);
    gate.NoteDone(0);
  }
  EXPECT_TRUE(gate.stalled());
}

TEST(TimeGate, WhatIsGivenWhileClosedMakesNoRecordShorter) {
  TimeGate gate;
  gate.SetPercentage(10, 0);
  gate.Spend(100 * kMs, 100 * kMs);
  gate.NoteGivenWhileClosed();
  gate.Spend(100 * kUs, 101 * kMs);
  gate.NoteDone(1);
  gate.Look(10'000 * kMs);
  EXPECT_EQ(gate.most_ahead(), TimeGate::kLeastAhead) << "it has taken 100 ms";
}

}  // namespace
}  // namespace tutti::device::gpu
