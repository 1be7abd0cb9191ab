// What places of one context do to each other, with a driver that notes what it is told.
#include "executor/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "executor/leftovers.h"
#include "executor/submitter.h"
#include "executor/testing/submitter_fixture.h"
#include "os/fd.h"

namespace tutti::executor {
namespace {

using testing::HasSubstr;
using namespace cuda;

class ContextTest : public testing::Test {
 protected:
  struct Place {
    explicit Place(ContextTest* test) : test_(test) { test->context_.Add(exchange.get()); }
    ~Place() { test_->context_.Remove(exchange.get()); }
    Place(const Place&) = delete;

    ContextTest* const test_;
    const std::unique_ptr<Exchange> exchange{new Exchange()};
    DispatchWriter writer{exchange.get()};
    Submitter submitter{test_->vendor_, &test_->modules_, exchange.get(), test_->bell_.get(), &test_->context_};
  };
  ContextTest() { driver = &driver_; }
  ~ContextTest() override { driver = nullptr; }

  static void Copy(Place& place) {
    place.writer.Add({.kind = DispatchKind::kOpenStream, .stream = 0}, OpenStreamDispatch{});
    place.writer.Add({.kind = DispatchKind::kCopy, .stream = 0, .sequence = 1},
                     CopyDispatch{.destination = 200, .source = 100, .row_bytes = 8, .rows = 1, .planes = 1});
    place.writer.Publish();
    place.submitter.Step();
  }

  FakeDriver driver_;
  const os::Fd bell_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  const Vendor vendor_ = MakeVendor();
  Modules modules_{vendor_};
  Context context_{vendor_};
};

TEST_F(ContextTest, ACallThatIsRefusedIsItsPlacesFailureAlone) {
  Place one(this), two(this);
  driver_.copies = CUDA_ERROR_INVALID_VALUE;
  Copy(one);
  EXPECT_EQ(one.exchange->failure.load(), CUDA_ERROR_INVALID_VALUE);
  driver_.copies = CUDA_SUCCESS;
  Copy(two);
  EXPECT_EQ(two.exchange->streams[0].done.load(), 1u);
  EXPECT_FALSE(two.submitter.failed());
}

TEST_F(ContextTest, AContextThatHasNoRoomForAnEventIsNotLost) {
  driver_.events = CUDA_ERROR_OUT_OF_MEMORY;
  context_.NoteFailure({.code = CUDA_ERROR_INVALID_VALUE});
  EXPECT_FALSE(context_.lost());
}

TEST_F(ContextTest, AContextThatIsNotThisThreadsIsNotLost) {
  ASSERT_TRUE(context_.Open());
  driver_.events = driver_.streams = CUDA_ERROR_INVALID_CONTEXT;
  context_.NoteFailure({.code = CUDA_ERROR_INVALID_CONTEXT});
  EXPECT_FALSE(context_.lost());
}

// No document says of an event that is made or looked at that the driver then tells what a kernel has done.
TEST_F(ContextTest, AStreamInWhichNothingIsTellsThatTheContextIsLost) {
  driver_.streams = CUDA_ERROR_UNKNOWN;
  ASSERT_TRUE(context_.Open());
  context_.NoteFailure({.code = CUDA_ERROR_UNKNOWN});
  EXPECT_TRUE(context_.lost());
}

TEST_F(ContextTest, WhatTheDriverSaysOfACallIsEnoughWhereItIsTheContexts) {
  ASSERT_TRUE(context_.Open());
  const Status said = vendor_.Check(CUDA_ERROR_LAUNCH_FAILED, "cuLaunchKernelEx");
  context_.NoteFailure(said.error());
  EXPECT_TRUE(context_.lost());
}

// Whoever looks first whether it is lost: for a mistake of its own, perhaps.
TEST_F(ContextTest, AContextIsLostWithTheErrorThatHasEndedIt) {
  ASSERT_TRUE(context_.Open());
  (void)vendor_.Check(CUDA_ERROR_LAUNCH_FAILED, "a kernel of one");
  (void)vendor_.Check(CUDA_ERROR_ILLEGAL_ADDRESS, "what came later");
  context_.NoteFailure(vendor_.Check(CUDA_ERROR_INVALID_VALUE, "a copy of two").error());
  ASSERT_TRUE(context_.lost());
  EXPECT_EQ(context_.failure().code, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(context_.failure().text, HasSubstr("a kernel of one"));
}

TEST_F(ContextTest, AFaultThatOnlyAFenceHasSeenIsNotTheContexts) {
  ASSERT_TRUE(context_.Open());
  context_.NoteFailure({.code = CUDA_ERROR_ILLEGAL_ADDRESS, .text = "a fault of a kernel"});
  EXPECT_FALSE(context_.lost());
}

TEST_F(ContextTest, AContextThatIsLostIsTheFailureOfAllPlacesAndWakesThem) {
  Place one(this), two(this);
  driver_.copies = driver_.context = CUDA_ERROR_ILLEGAL_ADDRESS;
  const uint32_t bell = two.exchange->bell;
  Copy(one);
  EXPECT_NE(two.exchange->bell, bell);
  two.submitter.Step();
  for (const Place* place : {&one, &two}) {
    EXPECT_EQ(place->exchange->failure.load(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(std::string(place->exchange->failure_text), HasSubstr("cuMemcpyAsync"));
  }
}

// A driver may have who asks wait for what another thread asks of it.
TEST_F(ContextTest, WhoLooksWhetherTheContextIsLostHoldsUpNobodyWhoGivesItRecords) {
  Place one(this), two(this);
  ASSERT_TRUE(context_.Open());
  std::future<bool> asked;
  std::future_status status = std::future_status::deferred;
  driver_.at_look = [&] {
    asked = std::async(std::launch::async, [&] { return context_.IsAlone(one.exchange.get()); });
    status = asked.wait_for(std::chrono::seconds(10));
  };
  context_.NoteFailure({.code = CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(status, std::future_status::ready);
  EXPECT_FALSE(asked.get());
}

TEST_F(ContextTest, ALimitIsLoweredWhenNothingRuns) {
  ASSERT_TRUE(context_.Open());
  Leftovers leftovers(vendor_, &context_, nullptr);
  Place one(this);
  {
    Place two(this);
    EXPECT_EQ(context_.SetLimit(two.exchange.get(), CU_LIMIT_STACK_SIZE, 4000), 4000u);
    driver_.reached = false;
    Copy(one);
    EXPECT_EQ(context_.SetLimit(two.exchange.get(), CU_LIMIT_STACK_SIZE, 3000), 4000u) << "it would wait for one";
  }
  leftovers.LookForLimits();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(driver_.last_limit, 4000u);
  driver_.reached = true;
  one.submitter.Step();
  while (driver_.last_limit != kFreshLimit) std::this_thread::yield();
}

// Nobody knows whether it ends, and who comes next would wait for the driver's call.
TEST_F(ContextTest, ALimitIsNotLoweredBehindThePlacesOwnWorkThatDoesNotEnd) {
  ASSERT_TRUE(context_.Open());
  Place one(this);
  EXPECT_EQ(context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 4000), 4000u);
  driver_.reached = false;
  Copy(one);
  EXPECT_EQ(context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 3000), 4000u);
  EXPECT_EQ(driver_.last_limit, 4000u);
}

// It is waited for, but a moment: on a busy machine that may be too short.
TEST_F(ContextTest, ALimitIsLoweredBehindThePlacesOwnWorkThatIsOverInAMoment) {
  ASSERT_TRUE(context_.Open());
  bool is_lowered = false;
  for (int attempt = 0; attempt < 100 && !is_lowered; ++attempt) {
    Place one(this);
    EXPECT_EQ(context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 4000), 4000u);
    driver_.reached = false;
    Copy(one);
    ASSERT_TRUE(context_.anything_runs());
    std::promise<void> begins;
    auto ends = std::async(std::launch::async, [&] {
      begins.get_future().wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      driver_.reached = true;
      one.submitter.Step();
    });
    begins.set_value();
    const auto held = context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 3000);
    is_lowered = driver_.last_limit == 3000;
    EXPECT_EQ(held, is_lowered ? 3000u : 4000u);
    ends.wait();
  }
  EXPECT_TRUE(is_lowered);
}

// It may wait for what runs: for another one's kernel that never ends.
TEST_F(ContextTest, APlaceEndsWhileAnotherOneSetsALimit) {
  ASSERT_TRUE(context_.Open());
  Place one(this);
  std::optional<Place> two(this);
  ASSERT_TRUE(context_.SetLimit(two->exchange.get(), CU_LIMIT_STACK_SIZE, 2000));
  std::future<void> ended;
  std::future_status status = std::future_status::deferred;
  driver_.at_limit = [&] {
    ended = std::async(std::launch::async, [&] { two.reset(); });
    status = ended.wait_for(std::chrono::seconds(10));
  };
  EXPECT_TRUE(context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 4000));
  EXPECT_EQ(status, std::future_status::ready);
}

TEST_F(ContextTest, WhatWaitsToSetALimitHoldsUpNoNewsOfALoss) {
  Place one(this), two(this);
  std::future<void> noted;
  std::future_status status = std::future_status::deferred;
  driver_.at_limit = [&] {
    driver_.context = CUDA_ERROR_ILLEGAL_ADDRESS;
    noted = std::async(std::launch::async, [&] { context_.NoteFailure({.code = CUDA_ERROR_ILLEGAL_ADDRESS}); });
    status = noted.wait_for(std::chrono::seconds(10));
  };
  (void)context_.SetLimit(one.exchange.get(), CU_LIMIT_STACK_SIZE, 2000);
  EXPECT_EQ(status, std::future_status::ready);
  noted.wait();
  EXPECT_TRUE(context_.lost());
}

}  // namespace
}  // namespace tutti::executor
