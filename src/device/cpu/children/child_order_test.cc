#include "device/cpu/children/child_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_operation.h"

namespace tutti::device::cpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ChildOrderTest : public testing::Test {
 protected:
  ChildOrder::Ready Launch(ChildStream* stream, CpuOperation* task) {
    ChildOrder::Ready ready;
    order_.Launch(stream, task, &ready);
    return ready;
  }
  ChildOrder::Ready Done(CpuOperation* task) {
    ChildOrder::Ready ready;
    order_.Done(task, &ready);
    return ready;
  }
  ChildOrder::Ready Record(uint64_t event, ChildStream* stream) {
    ChildOrder::Ready ready;
    EXPECT_TRUE(order_.Record(event, stream, {}, &ready));
    return ready;
  }
  ChildOrder::Ready Wait(ChildStream* stream, uint64_t event) {
    ChildOrder::Ready ready;
    EXPECT_TRUE(order_.Wait(stream, event, {}, &ready));
    return ready;
  }
  ChildStream* NewStream() { return order_.NamedStream(order_.CreateStream({})); }

  uint64_t pending_ = 0;
  ChildOrder order_{&pending_};
  CpuOperation a_, b_, c_, d_;
};

TEST_F(ChildOrderTest, OfOneStreamEachBeginsBehindTheOneBefore) {
  EXPECT_THAT(Launch(order_.StreamOfBlock(3), &a_), ElementsAre(&a_));
  EXPECT_THAT(Launch(order_.StreamOfBlock(3), &b_), IsEmpty());
  EXPECT_THAT(Launch(order_.StreamOfBlock(4), &c_), ElementsAre(&c_));
  EXPECT_THAT(Launch(order_.StreamOfThread(3, 0), &d_), ElementsAre(&d_));
  EXPECT_THAT(Done(&a_), ElementsAre(&b_));
  EXPECT_THAT(Done(&c_), IsEmpty());
  EXPECT_THAT(Done(&d_), IsEmpty());
  EXPECT_FALSE(order_.empty());
  EXPECT_THAT(Done(&b_), IsEmpty());
  EXPECT_TRUE(order_.empty());
}

TEST_F(ChildOrderTest, AStreamWaitsForARecordingAndNotForALaterOne) {
  ChildStream *const first = NewStream(), *const second = NewStream(), *const third = NewStream();
  const uint64_t event = order_.CreateEvent({});
  EXPECT_THAT(Wait(second, event), IsEmpty());  // never recorded: nothing to wait for
  EXPECT_THAT(Launch(first, &a_), ElementsAre(&a_));
  Record(event, first);
  Launch(first, &b_);
  Wait(second, event);
  Wait(third, event);
  Record(event, first);  // behind b
  EXPECT_TRUE(order_.DestroyEvent(event));  // who waits goes on waiting
  EXPECT_THAT(Launch(second, &c_), IsEmpty());
  EXPECT_THAT(Launch(third, &d_), IsEmpty());
  EXPECT_EQ(pending_, 2u);  // the recordings; the waits have come to the front
  EXPECT_THAT(Done(&a_), UnorderedElementsAre(&b_, &c_, &d_));
  EXPECT_THAT(Done(&b_), IsEmpty());
  EXPECT_EQ(pending_, 0u);
}

TEST_F(ChildOrderTest, AStreamThatIsDestroyedRunsWhatIsInIt) {
  const uint64_t handle = order_.CreateStream({});
  Launch(order_.NamedStream(handle), &a_);
  Launch(order_.NamedStream(handle), &b_);
  EXPECT_TRUE(order_.DestroyStream(handle));
  EXPECT_FALSE(order_.DestroyStream(handle));
  EXPECT_EQ(order_.NamedStream(handle), nullptr);
  EXPECT_THAT(Done(&a_), ElementsAre(&b_));
  EXPECT_THAT(Done(&b_), IsEmpty());
}

TEST_F(ChildOrderTest, TheTailBeginsWhenItIsToldAndGoesInOrder) {
  Launch(order_.StreamOfItsOwn(), &a_);
  order_.LaunchAtTail(&b_);
  order_.LaunchAtTail(&c_);
  Done(&a_);
  EXPECT_TRUE(order_.empty());
  ChildOrder::Ready ready;
  EXPECT_TRUE(order_.BeginTail(&ready));
  EXPECT_THAT(ready, ElementsAre(&b_));
  EXPECT_FALSE(order_.empty());
  order_.LaunchBehind(&b_, {&d_});  // what b has at its own tail goes before c
  EXPECT_THAT(Done(&b_), ElementsAre(&d_));
  EXPECT_THAT(Done(&d_), ElementsAre(&c_));
  EXPECT_THAT(Done(&c_), IsEmpty());
  EXPECT_TRUE(order_.empty());
  ready.clear();
  EXPECT_FALSE(order_.BeginTail(&ready));
}

TEST_F(ChildOrderTest, HandlesThatAreNoneAreRefused) {
  const uint64_t stream = order_.CreateStream({}), event = order_.CreateEvent({});
  ChildOrder::Ready ready;
  EXPECT_EQ(order_.NamedStream(event), nullptr);
  EXPECT_EQ(order_.NamedStream(0), nullptr);
  EXPECT_FALSE(order_.Record(stream, order_.NamedStream(stream), {}, &ready));
  EXPECT_FALSE(order_.Wait(order_.NamedStream(stream), event + 1, {}, &ready));
  EXPECT_FALSE(order_.DestroyEvent(stream));
}

}  // namespace
}  // namespace tutti::device::cpu
