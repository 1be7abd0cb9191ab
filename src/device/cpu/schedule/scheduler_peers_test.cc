// A server's part of the device, beside servers that say what they want: the test acts as these, the SMs and the clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMsNs = 1'000'000;

uint64_t peers_clock_ns;

const SmSet kBoth(0b11);

struct FakePeers final : TimePeers {
  void Say(std::span<const TimeDemand> demands, uint64_t until_ns) override {
    said.assign(demands.begin(), demands.end());
    said_until_ns = until_ns;
  }
  void SayUntil(uint64_t until_ns) override { said_until_ns = until_ns; }
  void SayNow(size_t place, double sms_now) override { said.at(place).sms_now = sms_now; }
  size_t Hear(std::span<TimeDemand> room, uint64_t) const override {
    std::ranges::copy(others, room.begin());
    return others.size();
  }
  double HearUrgent(uint32_t band, const SmSet&, uint64_t) const override { return band == 0 ? 0 : urgent_sms; }

  std::vector<TimeDemand> others, said;
  uint64_t said_until_ns = 0;
  double urgent_sms = 0;
};

// A client whose kernel would fill the device.
struct Client {
  explicit Client(Scheduler* device, const ShareLimits& limits = {}) : scheduler(device) {
    scheduler->AddShare(&share);
    scheduler->SetLimits(&share, limits);
    habits.ns = 1'000'000;
    task.share = &share;
    task.total_blocks = 1'000'000;
    task.urgency = 5;
    task.habits = &habits;
  }
  ~Client() {
    std::vector<Task*> dropped;
    scheduler->Drop(&share, &dropped);
    scheduler->RemoveShare(&share);
  }
  void Submit() { scheduler->Perform(scheduler->Submit(&task)); }

  Scheduler* const scheduler;
  SpaceShare share;
  Task task;
  BlockHabits habits;
};

class PartTest : public testing::Test {
 protected:
  PartTest() : ticker_([](uint64_t) { return kNever; }), scheduler_({.sms = 2}, &ticker_, &pool_, &Now) {
    peers_clock_ns = 1'000'000'000;
    for (uint32_t i = 0; i < 2; ++i) scheduler_.sm(i).thread = &threads_[i];
    scheduler_.SetPeers(&peers_);
  }
  static uint64_t Now() { return peers_clock_ns; }

  bool Take(uint32_t sm) { return scheduler_.Take(scheduler_.sm(sm), &chunks_[sm], &seen_, &retry_at_ns_); }
  void Finish(uint32_t sm) {
    scheduler_.Finish(scheduler_.sm(sm), chunks_[sm], {.finished = chunks_[sm].count, .end_ns = peers_clock_ns});
  }
  // Both SMs run what they may for so long; the SM time that `client`, or all, had.
  uint64_t RunFor(uint64_t ns, const Client* client = nullptr) {
    uint64_t ran_ns = 0;
    for (const uint64_t end_ns = peers_clock_ns + ns; peers_clock_ns < end_ns;) {
      const bool took[] = {Take(0), Take(1)};
      peers_clock_ns += kMsNs;
      for (uint32_t sm = 0; sm < 2; ++sm) {
        if (!took[sm]) continue;
        if (client == nullptr || chunks_[sm].task == &client->task) ran_ns += kMsNs;
        Finish(sm);
      }
    }
    return ran_ns;
  }
  // Of both SMs, over a second, once it has heard of the others.
  double PercentOf(const Client& client) {
    RunFor(20 * kMsNs);
    return static_cast<double>(RunFor(1000 * kMsNs, &client)) / (20.0 * kMsNs);
  }

  Ticker ticker_;
  BlockPool pool_;
  FakePeers peers_;
  guest::GuestThread threads_[2];
  Scheduler scheduler_;
  Chunk chunks_[2];
  uint32_t seen_ = 0;  // by the SM that has last found nothing
  uint64_t retry_at_ns_ = 0;
};

TEST_F(PartTest, IsAllWhileNobodyElseWantsAnything) {
  Client client(&scheduler_);
  client.Submit();
  EXPECT_EQ(RunFor(100 * kMsNs), 200 * kMsNs);
}

TEST_F(PartTest, IsByWeightWhileOthersWantAll) {
  Client client(&scheduler_);
  client.Submit();
  for (const auto& [weight, percent] : {std::pair(100.0, 50.0), {300.0, 25.0}, {25.0, 80.0}}) {
    peers_.others = {{.weight = weight, .sms = 2, .region = kBoth, .server = 1}};
    EXPECT_NEAR(PercentOf(client), percent, 2);
  }
}

TEST_F(PartTest, IsWhatOthersDoNotWant) {
  peers_.others = {{.weight = 100, .sms = 0.4, .region = kBoth, .server = 1}};
  Client client(&scheduler_);
  client.Submit();
  EXPECT_NEAR(PercentOf(client), 80, 2);
  peers_.others.clear();
  RunFor(20 * kMsNs);
  EXPECT_EQ(RunFor(100 * kMsNs), 200 * kMsNs);
}

TEST_F(PartTest, ComesFromWhatEachSaysOfItself) {
  Client client(&scheduler_);
  client.Submit();
  RunFor(20 * kMsNs);
  ASSERT_EQ(peers_.said.size(), 1u);
  EXPECT_EQ(peers_.said[0].weight, 100);
  EXPECT_NEAR(peers_.said[0].sms, 2, 0.01);
  EXPECT_EQ(peers_.said[0].region, kBoth);
  scheduler_.SetLimits(&client.share, {.percentage = 30});
  RunFor(20 * kMsNs);
  EXPECT_EQ(peers_.said[0].weight, 30);
  EXPECT_LE(peers_.said[0].sms, 1.1) << "more than it may use";
}

TEST_F(PartTest, OfAPartitionIsItsOwnWhateverOthersWantElsewhere) {
  Client inside(&scheduler_, {.sms = SmSet(0b01)}), outside(&scheduler_, {.sms = SmSet(0b10)});
  peers_.others = {{.weight = 100, .sms = 1, .region = SmSet(0b10), .server = 1},
                   {.weight = 100, .sms = 1, .region = SmSet(0b10), .server = 2}};
  inside.Submit();
  outside.Submit();
  EXPECT_NEAR(PercentOf(inside), 50, 0.5) << "of two SMs";
  EXPECT_NEAR(PercentOf(outside), 50.0 / 3, 1) << "three share the other SM";
}

TEST_F(PartTest, OfClientsBelowNormalIsWhatNormalOnesElsewhereLeave) {
  Client below(&scheduler_, {.band = 1});
  below.Submit();
  peers_.others = {{.weight = 100, .sms = 1.5, .band = 0, .region = kBoth, .server = 1}};
  EXPECT_NEAR(PercentOf(below), 25, 2);
  peers_.others[0].band = 1;
  EXPECT_NEAR(PercentOf(below), 50, 2) << "beside one of its own priority";
}

TEST_F(PartTest, OfNormalClientsIsAllBesideOthersBelow) {
  Client normal(&scheduler_);
  normal.Submit();
  peers_.others = {{.weight = 100, .sms = 2, .band = 1, .region = kBoth, .server = 1}};
  EXPECT_NEAR(PercentOf(normal), 100, 0.5);
}

TEST_F(PartTest, OfClientsBelowNormalIsNothingAtTheMomentThatANormalOneElsewhereWantsAll) {
  Client below(&scheduler_, {.band = 1});
  below.Submit();
  RunFor(20 * kMsNs);
  ASSERT_TRUE(Take(0));
  ASSERT_TRUE(Take(1));
  peers_.urgent_sms = 2;
  peers_clock_ns += Scheduler::kUrgentLookNs;
  scheduler_.Tick(peers_clock_ns);
  EXPECT_TRUE(threads_[0].WasToldTo(guest::StopReason::kPreempt));
  EXPECT_TRUE(threads_[1].WasToldTo(guest::StopReason::kPreempt));
  Finish(0);
  Finish(1);
  EXPECT_FALSE(Take(0));
  EXPECT_LE(retry_at_ns_, peers_clock_ns + Scheduler::kUrgentLookNs) << "nobody wakes it when that has ended";
  peers_.urgent_sms = 0.6;
  EXPECT_TRUE(Take(0)) << "a part of an SM is left to time";
  EXPECT_TRUE(Take(1));
  Finish(0);
  Finish(1);
}

TEST_F(PartTest, OfNormalClientsIsSaidWhenItComesAndGoes) {
  Client normal(&scheduler_);
  normal.task.total_blocks = 1;
  RunFor(20 * kMsNs);
  peers_clock_ns += 1;
  ASSERT_EQ(peers_.said.size(), 1u);
  EXPECT_EQ(peers_.said[0].sms_now, 0);
  normal.Submit();
  EXPECT_EQ(peers_.said[0].sms_now, 2) << "as soon as there is work";
  ASSERT_TRUE(Take(0));
  EXPECT_NE(peers_.said[0].sms_now, 0);
  Finish(0);
  scheduler_.Release(scheduler_.sm(0));
  EXPECT_EQ(peers_.said[0].sms_now, 0);
}

TEST_F(PartTest, IsSaidForLongOnlyWhileSomethingRuns) {
  Client client(&scheduler_);
  client.task.total_blocks = 1;
  peers_clock_ns += 20 * kMsNs;
  client.Submit();
  ASSERT_TRUE(Take(0));
  EXPECT_GE(peers_.said_until_ns, peers_clock_ns + 100 * kMsNs) << "its ticker may come late";
  peers_clock_ns += 90 * kMsNs;
  scheduler_.Tick(peers_clock_ns);
  EXPECT_GE(peers_.said_until_ns, peers_clock_ns + 100 * kMsNs) << "one block";
  peers_clock_ns += 1;
  Finish(0);
  scheduler_.Release(scheduler_.sm(0));
  EXPECT_LE(peers_.said_until_ns, peers_clock_ns + 20 * kMsNs);
}

TEST_F(PartTest, CountsNothingThatABlockRanAlone) {
  Client client(&scheduler_);
  client.Submit();
  for (uint32_t sm = 0; sm < 2; ++sm) ASSERT_TRUE(Take(sm));
  for (int i = 0; i < 300; ++i) scheduler_.Tick(peers_clock_ns += 10 * kMsNs);
  peers_.others = {{.weight = 100, .sms = 2, .region = kBoth, .server = 1}};
  scheduler_.Tick(peers_clock_ns += 10 * kMsNs);
  for (uint32_t sm = 0; sm < 2; ++sm) Finish(sm);
  EXPECT_NEAR(static_cast<double>(RunFor(200 * kMsNs)) / (4.0 * kMsNs), 50, 6)
      << "the three seconds before were nobody else's";
}

// What was not charged is not given back.
TEST_F(PartTest, IsNoLargerByWhatABlockDidNotRunAlone) {
  Client client(&scheduler_);
  client.Submit();
  const uint64_t since_ns = peers_clock_ns;
  ASSERT_TRUE(Take(0));
  for (int i = 0; i < 300; ++i) scheduler_.Tick(peers_clock_ns += 10 * kMsNs);
  peers_.others = {{.weight = 300, .sms = 2, .region = kBoth, .server = 1}};
  scheduler_.Tick(peers_clock_ns += 10 * kMsNs);
  scheduler_.Finish(scheduler_.sm(0), chunks_[0],
                    {.finished = 1, .end_ns = peers_clock_ns, .stolen_ns = peers_clock_ns - since_ns});
  EXPECT_LE(RunFor(40 * kMsNs), 24 * kMsNs) << "half an SM is its own";
}

// As if it had had a core all the time, until it says that others had it.
TEST_F(PartTest, IsNotUsedUpByABlockWhoseCoreOthersHave) {
  Client client(&scheduler_);
  client.Submit();
  peers_.others = {{.weight = 300, .sms = 2, .region = kBoth, .server = 1}};
  RunFor(20 * kMsNs);
  peers_clock_ns += 10 * kMsNs;
  constexpr uint64_t kLongNs = 40 * kMsNs, kRanNs = kMsNs;
  ASSERT_TRUE(Take(0));
  for (uint64_t ns = 0; ns < kLongNs; ns += 10 * kMsNs) scheduler_.Tick(peers_clock_ns += 10 * kMsNs);
  scheduler_.Finish(scheduler_.sm(0), chunks_[0],
                    {.finished = 1, .end_ns = peers_clock_ns, .stolen_ns = kLongNs - kRanNs});
  EXPECT_EQ(RunFor(20 * kMsNs), 20 * kMsNs) << "half an SM is its own, and it has saved up 20 ms";
}

// It would be forgotten otherwise, although it wants something.
TEST_F(PartTest, IsSaidAgainWhileItIsUsedUp) {
  Client client(&scheduler_);
  client.Submit();
  peers_.others = {{.weight = 1e6, .sms = 2, .region = kBoth, .server = 1}};
  RunFor(20 * kMsNs);
  while (Take(0)) {
    peers_clock_ns += 100 * kMsNs;
    Finish(0);
  }
  EXPECT_LT(retry_at_ns_, peers_.said_until_ns);
}

TEST_F(PartTest, EndsWithTheOthers) {
  Client below(&scheduler_, {.band = 1});
  below.Submit();
  peers_.others = {{.weight = 100, .sms = 2, .band = 0, .region = kBoth, .server = 1}};
  peers_.urgent_sms = 2;
  RunFor(20 * kMsNs);
  EXPECT_EQ(RunFor(20 * kMsNs), 0u);
  scheduler_.SetPeers(nullptr);
  EXPECT_EQ(RunFor(20 * kMsNs), 40 * kMsNs);
}

// They look again only if the epoch moves, or when it is time in any case, which may be 50 ms later.
TEST_F(PartTest, ThatHasGrownIsHeardOfByAnSmThatHasFoundItTaken) {
  Client client(&scheduler_);
  client.Submit();
  peers_.others = {{.weight = 100, .sms = 2, .region = kBoth, .server = 1}};
  RunFor(20 * kMsNs);
  for (const bool by_ticker : {false, true}) {
    ASSERT_TRUE(Take(0));
    ASSERT_FALSE(Take(1)) << "one SM is its part";
    const uint32_t seen = seen_;
    const auto others = std::exchange(peers_.others, {});
    peers_clock_ns += 10 * kMsNs;
    if (by_ticker) {
      ASSERT_TRUE(scheduler_.gate().LieDown(seen, true));
      scheduler_.Tick(peers_clock_ns);
      EXPECT_EQ(scheduler_.gate().owed(), 1u) << "who sleeps is woken";
      scheduler_.gate().GetUp(true);
    } else {
      Finish(0);
      ASSERT_TRUE(Take(0));
    }
    EXPECT_NE(scheduler_.gate().epoch(), seen);
    ASSERT_TRUE(Take(1));
    peers_.others = others;
    for (uint32_t sm = 0; sm < 2; ++sm) Finish(sm);
    RunFor(100 * kMsNs);
  }
}

TEST_F(PartTest, OfClientsBelowNormalIsHeardOfWhenNormalOnesElsewhereHaveEnded) {
  Client below(&scheduler_, {.band = 1});
  below.Submit();
  peers_.urgent_sms = 1;
  ASSERT_TRUE(Take(0));
  ASSERT_FALSE(Take(1));
  const uint32_t seen = seen_;
  peers_.urgent_sms = 0;
  Finish(0);
  ASSERT_TRUE(Take(0));
  EXPECT_NE(scheduler_.gate().epoch(), seen);
  ASSERT_TRUE(Take(1));
}

// Idle SMs would all look in vain, whenever a chunk ends.
TEST_F(PartTest, ThatAnSmLeavesAndTakesAgainIsNoNews) {
  Client client(&scheduler_);
  client.Submit();
  peers_.others = {{.weight = 100, .sms = 2, .region = kBoth, .server = 1}};
  RunFor(20 * kMsNs);
  ASSERT_TRUE(Take(0));
  ASSERT_FALSE(Take(1));
  for (int i = 0; i < 5; ++i) {
    Finish(0);
    ASSERT_TRUE(Take(0));
  }
  EXPECT_EQ(scheduler_.gate().epoch(), seen_);
}

// The SM that it is for may have no core for a while, which another server's SM has.
TEST_F(PartTest, OfOtherSmsIsToldOnceByOneThatFindsNothing) {
  Client bound(&scheduler_, {.sms = SmSet(0b01)});
  bound.Submit();
  ASSERT_FALSE(Take(1));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(scheduler_.gate().LieDown(seen_, false)) << "nobody has anything new";
    ASSERT_FALSE(Take(1));
    EXPECT_EQ(scheduler_.gate().owed(), 0u) << "it has been told";
    scheduler_.gate().GetUp(false);
  }
  EXPECT_TRUE(Take(0));
}

// More kinds of clients than a server can say.
TEST_F(PartTest, IsThereForAnyNumberOfPartitions) {
  Scheduler device({.sms = kMaxSms}, &ticker_, &pool_, &Now);
  device.SetPeers(&peers_);
  std::vector<std::unique_ptr<Client>> clients;
  for (uint32_t sm = 0; sm < 3 * kMostDemands; ++sm)
    clients.push_back(std::make_unique<Client>(&device, ShareLimits{.sms = SmSet(1) << sm}));
  for (const auto& client : clients) client->Submit();
  peers_clock_ns += 20 * kMsNs;
  device.Tick(peers_clock_ns);
  EXPECT_EQ(peers_.said.size(), kMostDemands);
}

}  // namespace
}  // namespace tutti::device::cpu
