#include "device/compile/background_compiles.h"

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tutti::device {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using Image = ImageStore::Image;

class BackgroundCompilesTest : public testing::Test {
 protected:
  // Of a client, whose quick code somebody has unless it is let go.
  BackgroundCompiles::Job NewJob(const std::string& kernel, const void* client) {
    code_.push_back(std::make_shared<LoadedKernel>());
    const CacheKey key = KeyBuilder().Add(kernel).Finish();
    return {.request = {.kernel = kernel}, .key = key, .image = image_, .quick = code_.back(), .client = client};
  }
  void Work(const BackgroundCompiles::Job& job, const Cancelled& stop) {
    {
      const std::lock_guard lock(mutex_);
      done_.push_back(job.request.kernel);
    }
    ++begun_;
    while (!go_ && !stop) std::this_thread::yield();
  }
  // The first job is under way, so what is added is queued.
  void OccupyTheThread(BackgroundCompiles& compiles) {
    compiles.Add(NewJob("first", nullptr));
    while (begun_ == 0) std::this_thread::yield();
  }
  std::vector<std::string> AllOf(size_t count) {
    go_ = true;
    while (begun_ < count) std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    return done_;
  }

  std::shared_ptr<const Image> image_ = std::make_shared<const Image>(10);
  std::vector<std::shared_ptr<LoadedKernel>> code_;
  std::atomic<bool> go_{false};
  std::atomic<size_t> begun_{0};
  std::mutex mutex_;
  std::vector<std::string> done_;
  const int one_ = 0, other_ = 0;  // clients
  BackgroundCompiles compiles_{1, [this](const auto& job, const auto& stop) { Work(job, stop); }};
};

TEST_F(BackgroundCompilesTest, ClientsTakeTurns) {
  OccupyTheThread(compiles_);
  for (const char* kernel : {"a1", "a2", "a3", "a4"}) compiles_.Add(NewJob(kernel, &one_));
  for (const char* kernel : {"b1", "b2"}) compiles_.Add(NewJob(kernel, &other_));
  EXPECT_THAT(AllOf(7), ElementsAre("first", "a1", "b1", "a2", "b2", "a3", "a4"));
}

// Nobody's compilation of minutes is the others' minutes, but only those of its own client's other kernels.
TEST_F(BackgroundCompilesTest, OthersNeedNotWaitForOneThatGoesOnForLong) {
  std::vector<bool> in_addition;
  BackgroundCompiles compiles(
      1,
      [&](const BackgroundCompiles::Job& job, const Cancelled& stop) {
        {
          const std::lock_guard lock(mutex_);
          done_.push_back(job.request.kernel);
          in_addition.push_back(job.in_addition);
        }
        ++begun_;
        while (job.request.kernel == "endless" && !stop) std::this_thread::yield();
      },
      /*long_ns=*/50'000'000);
  compiles.Add(NewJob("endless", &one_));
  compiles.Add(NewJob("own", &one_));
  for (const char* kernel : {"b1", "b2"}) compiles.Add(NewJob(kernel, &other_));
  for (int tries = 0; tries < 6000 && begun_ < 3; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(done_, ElementsAre("endless", "b1", "b2"));
  EXPECT_THAT(in_addition, ElementsAre(false, true, true));
}

TEST_F(BackgroundCompilesTest, ManyThatGoOnForLongHaveThreadsUpToALimit) {
  constexpr size_t kMost = 2 + BackgroundCompiles::kThreadsInAddition;
  const int clients[kMost + 3] = {};
  std::atomic<size_t> under_way{0};
  BackgroundCompiles compiles(
      2,
      [&](const auto&, const Cancelled& stop) {
        ++under_way;
        while (!stop) std::this_thread::yield();
      },
      /*long_ns=*/1'000'000);
  for (const int& client : clients) compiles.Add(NewJob("endless" + std::to_string(&client - clients), &client));
  for (int tries = 0; tries < 6000 && under_way < kMost; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(under_way, kMost);
}

TEST_F(BackgroundCompilesTest, WhatNobodyHasAnyMoreComesLast) {
  OccupyTheThread(compiles_);
  for (const char* kernel : {"left", "wanted"}) compiles_.Add(NewJob(kernel, &one_));
  code_[1] = nullptr;
  EXPECT_THAT(AllOf(3), ElementsAre("first", "wanted", "left"));
}

// Only what is little is left of a client that has gone; and what is asked for again comes in its own place.
TEST_F(BackgroundCompilesTest, QuickCodeThatNobodyHasIsNotKept) {
  OccupyTheThread(compiles_);
  compiles_.Add(NewJob("left", &one_));
  const std::weak_ptr<LoadedKernel> left = code_[1];
  code_[1] = nullptr;
  EXPECT_TRUE(left.expired());
  for (const char* kernel : {"left", "first", "last"}) compiles_.Add(NewJob(kernel, &other_));
  EXPECT_THAT(AllOf(4), ElementsAre("first", "left", "first", "last"));
}

TEST_F(BackgroundCompilesTest, SmallImagesAreKeptAndLargeOnesGoWithTheirClients) {
  OccupyTheThread(compiles_);
  const std::weak_ptr<const Image> small = image_;
  compiles_.Add(NewJob("small", &one_));
  image_ = std::make_shared<const Image>(BackgroundCompiles::kMostKeptBytes);
  const std::weak_ptr<const Image> large = image_;
  compiles_.Add(NewJob("large", &one_));
  image_ = std::make_shared<const Image>(10);
  compiles_.Add(NewJob("last", &one_));
  EXPECT_TRUE(large.expired());
  EXPECT_FALSE(small.expired());
  EXPECT_THAT(AllOf(3), ElementsAre("first", "small", "last"));
}

TEST_F(BackgroundCompilesTest, AClientHasRoomForSoManyAndOthersHaveTheirs) {
  OccupyTheThread(compiles_);
  for (size_t i = 0; i < BackgroundCompiles::kMostOfClient; ++i) {
    EXPECT_TRUE(compiles_.HasRoomFor(&one_));
    compiles_.Add(NewJob("a", &one_));
  }
  EXPECT_FALSE(compiles_.HasRoomFor(&one_));
  EXPECT_TRUE(compiles_.HasRoomFor(&other_));
}

TEST_F(BackgroundCompilesTest, WhatNobodyHasMakesRoomForOthers) {
  OccupyTheThread(compiles_);
  std::vector<int> clients(BackgroundCompiles::kMost);
  for (const int& client : clients) compiles_.Add(NewJob("a" + std::to_string(&client - clients.data()), &client));
  EXPECT_FALSE(compiles_.HasRoomFor(&one_));
  code_[1] = nullptr;
  EXPECT_TRUE(compiles_.HasRoomFor(&one_));
  compiles_.Add(NewJob("b", &one_));
  EXPECT_FALSE(compiles_.HasRoomFor(&one_));
  EXPECT_THAT(AllOf(1 + clients.size()), Not(Contains("a0")));
}

TEST(BackgroundCompiles, TheSameCodeIsMadeByOneAtATime) {
  std::atomic<int> ended{0}, under_way{0}, most{0};
  const auto image = std::make_shared<const Image>(10);
  BackgroundCompiles compiles(4, [&](const auto&, const Cancelled&) {
    most = std::max(most.load(), ++under_way);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --under_way;
    ++ended;
  });
  std::vector<LoadedCode> codes;
  for (int i = 0; i < 4; ++i) {
    codes.push_back(std::make_shared<LoadedKernel>());
    compiles.Add({.image = image, .quick = codes.back()});
  }
  while (ended < 4) std::this_thread::yield();
  EXPECT_EQ(most, 1);
}

TEST(BackgroundCompiles, EndsWhatIsUnderWayAndDropsTheRest) {
  std::atomic<int> begun{0};
  const auto image = std::make_shared<const Image>(10);
  const auto code = std::make_shared<LoadedKernel>();
  {
    BackgroundCompiles compiles(2, [&](const auto&, const Cancelled& stop) {
      ++begun;
      while (!stop) std::this_thread::yield();
    });
    for (uint64_t i = 0; i < 5; ++i) compiles.Add({.key = KeyBuilder().Add(i).Finish(), .image = image, .quick = code});
    while (begun < 2) std::this_thread::yield();
  }
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(code.use_count(), 1);
}

}  // namespace
}  // namespace tutti::device
