// What may begin before what is done, on a device that is given one task of a stream at a time, and on one that is
// issued all it may have.
#include "device/common/stream_order/stream_engine.h"

#include <gtest/gtest.h>

#include <utility>

#include "device/common/stream_order/testing/fake_device.h"

namespace tutti::device {
namespace {

using Kind = Operation::Kind;

class StreamOrder : public ::testing::Test, protected testing::Harness {};

TEST_F(StreamOrder, WhatIsBehindAnIssuedTaskBeginsBeforeThatIsDone) {
  for (const bool issues : {false, true}) {
    const uint32_t stream = issues ? 2 : 1;
    device.issues = issues;
    Create(stream);
    for (int i = 0; i < 3; ++i) Submit(stream, Kind::kTask);
    EXPECT_EQ(device.given[stream].size(), issues ? 3u : 1u);
  }
  const uint64_t mark = Submit(2, Kind::kMark);
  Done(2, 2);
  EXPECT_EQ(device.completed[2], mark - 2);
  Done(2);
  EXPECT_EQ(device.completed[2], mark);
}

TEST_F(StreamOrder, AWaitForWhatIsIssuedIsTheDevices) {
  device.issues = true;
  Create(1);
  Create(2);
  const uint64_t task = Submit(1, Kind::kTask);
  const uint64_t wait = SubmitWait(2, 1, task);
  ASSERT_EQ(device.given[2].size(), 1u);
  EXPECT_EQ(device.given[2][0].joins, std::pair(1u, task));
  Submit(2, Kind::kTask);
  EXPECT_EQ(device.given[2].size(), 2u);
  Done(1);
  EXPECT_LT(device.completed[2], wait) << "the device has not said so";
  Done(2);
  EXPECT_EQ(device.completed[2], wait);
  SubmitWait(2, 1, task);
  EXPECT_EQ(device.given[2].size(), 1u) << "a wait for what is done";
}

TEST_F(StreamOrder, AWaitForWhatIsNotIssuedIsHeldUntilItIs) {
  device.issues = true;
  Create(1);
  Create(2);
  SubmitCall(1, 7);
  const uint64_t task = Submit(1, Kind::kTask);
  SubmitWait(2, 1, task);
  Submit(2, Kind::kTask);
  EXPECT_TRUE(device.given[2].empty());
  engine.HostCallDone(1, 7);
  EXPECT_EQ(device.given[1].size(), 1u);
  EXPECT_EQ(device.given[2].size(), 2u);
}

TEST_F(StreamOrder, AnEventWithATimeIsIssuedAndHasTheDevicesTime) {
  device.issues = true;
  Create(1);
  Create(2);
  const auto submit = [this](uint32_t stream, uint32_t event) {
    return Submit(stream, Kind::kEvent, [event](Operation* operation) { operation->event = event; });
  };
  const uint64_t timed = submit(1, 5);
  ASSERT_EQ(device.given[1].size(), 1u) << "however idle the stream is";
  Submit(1, Kind::kTask);
  EXPECT_EQ(device.given[1].size(), 2u);
  submit(1, 0);
  EXPECT_EQ(device.given[1].size(), 2u) << "nobody asks when it is reached";
  SubmitWait(2, 1, timed);
  ASSERT_EQ(device.given[2].size(), 1u);
  EXPECT_EQ(device.given[2][0].joins, std::pair(1u, timed));
  EXPECT_TRUE(device.events.empty());
  device.given[1][0].operation->reached_ns = 1234;
  Done(1);
  EXPECT_EQ(device.times[5], 1234u);
  EXPECT_EQ(device.completed[1], timed);
  const uint64_t untold = submit(2, 6);
  Done(2, 2);
  EXPECT_EQ(device.completed[2], untold);
  EXPECT_NE(device.times[6], 0u) << "ours, where the device does not say";
}

TEST_F(StreamOrder, ADeviceThatHasFailedTimesNothing) {
  device.issues = true;
  device.error = 719;
  Create(1);
  const uint64_t event = Submit(1, Kind::kEvent, [](Operation* operation) { operation->event = 5; });
  EXPECT_TRUE(device.given[1].empty());
  EXPECT_EQ(device.completed[1], event);
  EXPECT_NE(device.times[5], 0u);
}

TEST_F(StreamOrder, AHostCallWaitsForWhatIsIssued) {
  device.issues = true;
  Create(1);
  Submit(1, Kind::kTask);
  Submit(1, Kind::kTask);
  SubmitCall(1, 7);
  Done(1);
  EXPECT_TRUE(device.calls.empty());
  Done(1);
  EXPECT_EQ(device.calls.size(), 1u);
}

// The device's reports of two streams come in any order.
TEST_F(StreamOrder, NobodySeesAWaitOverBeforeWhatItWaitsFor) {
  device.issues = true;
  Create(1);
  Create(2);
  const uint64_t task = Submit(1, Kind::kTask);
  SubmitWait(2, 1, task);
  const uint64_t last = Submit(2, Kind::kTask);
  SubmitCall(2, 7);
  Done(2, 2);
  EXPECT_EQ(device.completed[2], 0u);
  EXPECT_TRUE(device.calls.empty());
  Done(1);
  EXPECT_EQ(device.completed[2], last);
  EXPECT_EQ(device.calls.size(), 1u);
}

TEST_F(StreamOrder, ALoopsTaskIsNotIssuedAgainBeforeItIsDone) {
  device.issues = true;
  device.values[5] = 1;
  Create(1);
  Submit(1, Kind::kConditional, [](Operation* loop) {
    loop->condition = 5;
    loop->conditional = wire::ConditionalKind::kWhile;
  });
  Submit(1, Kind::kBody, [](Operation* body) { body->number = 0; });
  Submit(1, Kind::kTask);
  Submit(1, Kind::kConditionalEnd, [](Operation* end) { end->no_more = false; });
  const uint64_t behind = Submit(1, Kind::kTask);
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(device.given[1].size(), 1u);
    EXPECT_NE(device.given[1][0].ticket, behind);
    if (round == 4) device.values[5] = 0;
    Done(1);
  }
  ASSERT_EQ(device.given[1].size(), 1u);
  EXPECT_EQ(device.given[1][0].ticket, behind);
  Done(1);
  EXPECT_EQ(device.completed[1], behind);
}

TEST_F(StreamOrder, WhenTheDeviceFailsAllThatIsNotIssuedCompletesAtOnce) {
  device.issues = true;
  Create(1);
  Create(2);
  Submit(1, Kind::kTask);
  SubmitCall(1, 7);
  const uint64_t last = Submit(1, Kind::kTask);
  const uint64_t wait = SubmitWait(2, 1, last);
  device.error = 719;
  engine.Drain(0);
  EXPECT_EQ(device.completed[2], wait);
  EXPECT_EQ(device.completed[1], 0u) << "the device still has its first task";
  Done(1);
  EXPECT_EQ(device.completed[1], last);
}

}  // namespace
}  // namespace tutti::device
