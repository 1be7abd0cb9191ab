// Modules that are unloaded while something runs.
#include "executor/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "executor/testing/submitter_fixture.h"

namespace tutti::executor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace cuda;

constexpr std::chrono::milliseconds kWhile{100};  // in which nothing is to happen

class LeftoversTest : public testing::Test {
 protected:
  LeftoversTest() {
    driver = &driver_;
    EXPECT_TRUE(context_.Open());
    context_.Begin();
  }
  ~LeftoversTest() override { driver = nullptr; }

  static CUmodule Module(uintptr_t number) { return reinterpret_cast<CUmodule>(number); }
  // Whether there was room.
  static bool Unload(Leftovers& leftovers, const int& place, uintptr_t module, uint64_t bytes = 1000) {
    const auto unloaded = leftovers.Unload(&place, Module(module), bytes);
    EXPECT_TRUE(unloaded);
    return unloaded.value_or(false);
  }
  void AwaitUnloaded(size_t count) {
    while (driver_.unloaded().size() < count) std::this_thread::yield();
  }

  FakeDriver driver_;
  const Vendor vendor_ = MakeVendor();
  Context context_{vendor_};
  const int one_ = 1, two_ = 2, three_ = 3, four_ = 4, five_ = 5;
};

TEST_F(LeftoversTest, StayLoadedWhileSomethingRunsAndNoLonger) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  EXPECT_TRUE(Unload(leftovers, one_, 1));
  EXPECT_TRUE(Unload(leftovers, two_, 2));
  std::this_thread::sleep_for(kWhile);
  EXPECT_THAT(driver_.unloaded(), IsEmpty());
  context_.End();
  AwaitUnloaded(2);
  EXPECT_THAT(driver_.unloaded(), UnorderedElementsAre(1, 2));
  EXPECT_TRUE(Unload(leftovers, one_, 3));
  EXPECT_EQ(driver_.unloaded().back(), 3u) << "nothing runs";
}

TEST_F(LeftoversTest, StayLoadedIfSomethingBeginsMeanwhile) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  driver_.at_unload = [&] { context_.Begin(); };
  for (const uintptr_t module : {1, 2}) EXPECT_TRUE(Unload(leftovers, one_, module));
  context_.End();
  AwaitUnloaded(1);
  std::this_thread::sleep_for(kWhile);
  EXPECT_EQ(driver_.unloaded().size(), 1u);
  context_.End();
  AwaitUnloaded(2);
  EXPECT_THAT(driver_.unloaded(), UnorderedElementsAre(1, 2));
}

// The driver would wait for what runs, and have its other callers wait.
TEST_F(LeftoversTest, ThatTakeMuchMemoryAreTheirPlacesOnAndNobodyElseNoticesThem) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  EXPECT_TRUE(Unload(leftovers, one_, 1, Leftovers::kMostBytesOfPlace / 2));
  EXPECT_FALSE(Unload(leftovers, one_, 2, Leftovers::kMostBytesOfPlace / 2 + 1));
  EXPECT_FALSE(Unload(leftovers, one_, 3, 2 * Leftovers::kMostBytes));
  EXPECT_FALSE(Unload(leftovers, one_, 3, ~uint64_t{0}));
  EXPECT_TRUE(Unload(leftovers, two_, 4, Leftovers::kMostBytesOfPlace));
  std::this_thread::sleep_for(kWhile);
  EXPECT_THAT(driver_.unloaded(), IsEmpty());
  context_.End();
  AwaitUnloaded(2);
  EXPECT_THAT(driver_.unloaded(), UnorderedElementsAre(1, 4)) << "the others are to be asked for again";
}

TEST_F(LeftoversTest, AreNoMoreOfAPlaceThanItsPart) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  uintptr_t module = 0;
  for (size_t i = 0; i < Leftovers::kMostOfPlace; ++i) EXPECT_TRUE(Unload(leftovers, one_, ++module, 1));
  EXPECT_FALSE(Unload(leftovers, one_, ++module, 1));
  EXPECT_TRUE(Unload(leftovers, two_, ++module, 1));
  EXPECT_THAT(driver_.unloaded(), IsEmpty());
}

TEST_F(LeftoversTest, LeaveRoomForOthersWhenTheyAreUnloaded) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  constexpr size_t kRounds = 3 * Leftovers::kMostBytes / Leftovers::kMostBytesOfPlace;
  for (size_t round = 1; round <= kRounds; ++round) {
    while (!Unload(leftovers, one_, round, Leftovers::kMostBytesOfPlace)) std::this_thread::yield();
    context_.End();
    AwaitUnloaded(round);
    context_.Begin();
  }
  EXPECT_EQ(driver_.unloaded().size(), kRounds) << "none was unloaded beside what ran";
}

TEST_F(LeftoversTest, OfPlacesThatHaveEndedAreBoundedAllTogether) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  uintptr_t module = 0;
  for (const int* const place : {&one_, &two_, &three_, &four_}) {
    EXPECT_TRUE(Unload(leftovers, *place, ++module, Leftovers::kMostBytesOfPlace));
    leftovers.Forget(place);
  }
  EXPECT_FALSE(Unload(leftovers, one_, 5, 1));
  EXPECT_FALSE(Unload(leftovers, five_, 5, 1));
  bool gives_up = false;
  EXPECT_FALSE(leftovers.UnloadInTheEnd(nullptr, Module(5), 1, [&] { return std::exchange(gives_up, true); }));
  EXPECT_THAT(driver_.unloaded(), IsEmpty());
  auto ends = std::async(std::launch::async, [&] { return leftovers.UnloadInTheEnd(nullptr, Module(5), 1); });
  EXPECT_EQ(ends.wait_for(kWhile), std::future_status::timeout);
  context_.End();
  EXPECT_TRUE(ends.get());
  AwaitUnloaded(5);
  EXPECT_THAT(driver_.unloaded(), UnorderedElementsAre(1, 2, 3, 4, 5));
}

// It may, for a kernel that has begun behind the look.
TEST_F(LeftoversTest, AreTakenWhileTheDriverTakesLongToUnloadOne) {
  std::atomic<bool> goes_on{false};
  Leftovers leftovers(vendor_, &context_, nullptr);
  driver_.at_unload = [&] {
    context_.Begin();
    goes_on.wait(false);
  };
  EXPECT_TRUE(Unload(leftovers, one_, 1));
  context_.End();
  while (!context_.anything_runs()) std::this_thread::yield();
  EXPECT_TRUE(Unload(leftovers, one_, 2));
  leftovers.Forget(&one_);
  EXPECT_TRUE(Unload(leftovers, one_, 3));
  EXPECT_THAT(driver_.unloaded(), IsEmpty());
  goes_on = true;
  goes_on.notify_all();
  context_.End();
  AwaitUnloaded(1);
}

// As calls fail in a thread without a context: nobody's context is lost by that.
TEST_F(LeftoversTest, AreUnloadedByWhoeverEndsWhereNoThreadCanDoIt) {
  driver_.currents = driver_.events = driver_.streams = CUDA_ERROR_INVALID_CONTEXT;
  Leftovers leftovers(vendor_, &context_, nullptr);
  uintptr_t module = 0;
  while (Unload(leftovers, one_, ++module)) {
    ASSERT_LT(module, Leftovers::kMostOfPlace);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(context_.lost());
  auto ends = std::async(std::launch::async, [&] { return leftovers.UnloadInTheEnd(nullptr, Module(module), 1); });
  EXPECT_EQ(ends.wait_for(kWhile), std::future_status::timeout);
  context_.End();
  EXPECT_TRUE(ends.get());
  EXPECT_THAT(driver_.unloaded(), ElementsAre(module));
}

TEST_F(LeftoversTest, OfALostContextWaitForNothing) {
  Leftovers leftovers(vendor_, &context_, nullptr);
  EXPECT_FALSE(Unload(leftovers, one_, 1, Leftovers::kMostBytes));
  driver_.context = CUDA_ERROR_ILLEGAL_ADDRESS;
  context_.NoteFailure({.code = CUDA_ERROR_ILLEGAL_ADDRESS});
  EXPECT_TRUE(Unload(leftovers, one_, 1, Leftovers::kMostBytes));
}

}  // namespace
}  // namespace tutti::executor
