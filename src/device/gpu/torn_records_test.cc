// What may be given again to another executor.
#include "device/gpu/torn_records.h"

#include <gtest/gtest.h>

#include <deque>

#include "device/gpu/lent_streams.h"

namespace tutti::device::gpu {
namespace {

class TornRecords : public testing::Test {
 protected:
  GpuOperation* Task(GpuOperation::Work work) {
    GpuOperation& task = tasks_.emplace_back();
    task.kind = Operation::Kind::kTask;
    task.work = work;
    return &task;
  }
  GpuOperation* Copy(uint64_t to, uint64_t from, uint64_t bytes) {
    GpuOperation* const task = Task(GpuOperation::Work::kCopy);
    task->copy = {.destination = to, .source = from, .row_bytes = bytes, .rows = 1, .planes = 1};
    return task;
  }
  GpuOperation* Fill(uint64_t at, uint64_t bytes) {
    GpuOperation* const task = Task(GpuOperation::Work::kFill);
    task->fill = {.destination = at, .width = bytes, .height = 1, .element_bytes = 1};
    return task;
  }
  static bool MayRepeat(std::initializer_list<GpuOperation*> begun) {
    std::vector<LeftRecord> records;
    for (GpuOperation* const task : begun) records.push_back({.operation = task, .may_have_begun = true});
    return !FindTorn(records);
  }

  std::deque<GpuOperation> tasks_;
};

TEST_F(TornRecords, AKernelIsNotDoneTwiceAndOneThatHasNotBegunIsDone) {
  GpuOperation* const kernel = Task(GpuOperation::Work::kLaunch);
  const LeftRecord begun{.operation = kernel, .may_have_begun = true}, waits{.operation = kernel};
  EXPECT_TRUE(FindTorn({&begun, 1})->by_kernel);
  EXPECT_FALSE(FindTorn({&waits, 1}));
}

TEST_F(TornRecords, WhatWritesWhatWasReadIsNotDoneTwice) {
  EXPECT_TRUE(MayRepeat({Copy(0x1000, 0x2000, 0x100), Copy(0x3000, 0x1000, 0x100)}));
  EXPECT_FALSE(MayRepeat({Copy(0x3000, 0x1000, 0x100), Copy(0x1000, 0x2000, 0x100)})) << "its source is another then";
  EXPECT_FALSE(MayRepeat({Copy(0x3000, 0x1000, 0x100), Fill(0x10ff, 1)}));
  EXPECT_TRUE(MayRepeat({Copy(0x3000, 0x1000, 0x100), Fill(0x1100, 1)}));
  EXPECT_TRUE(MayRepeat({Fill(0x1000, 8), Copy(0x3000, 0x1000, 0x100), Fill(0x3000, 8)}));
  EXPECT_FALSE(MayRepeat({Copy(0x1000, 0x1080, 0x100)})) << "onto itself";
}

TEST_F(TornRecords, WhatAKernelMayHaveSeenIsNotDoneTwice) {
  const LeftRecord seen{.operation = Fill(0x1000, 8), .may_have_begun = true, .others_went_on = true};
  EXPECT_TRUE(FindTorn({&seen, 1}));
}

// A client's stream by its number, with the lent one that it has.
struct LentPair {
  LentStreams streams;
  LentStreams::Lent* one = nullptr;
  LentStreams::Lent* two = nullptr;
  Stream first, second;

  LentPair() {
    bool opened = false;
    first.number = 1;
    second.number = 2;
    one = &streams.LendTo(1, 0, &opened);
    two = &streams.LendTo(2, 0, &opened);
  }
};

TEST_F(TornRecords, WhatWasWaitedForIsDoneWhenTheWaitIs) {
  LentPair pair;
  GpuOperation *const fill = Fill(0x1000, 8), *const later = Fill(0x2000, 8), *const after = Fill(0x1000, 8);
  GpuOperation wait;
  wait.kind = Operation::Kind::kWait;
  fill->stream = later->stream = &pair.first;
  wait.stream = after->stream = &pair.second;
  pair.streams.Note(*pair.one, 1, 1, fill, {});
  pair.streams.Note(*pair.one, 1, 2, later, {});
  pair.streams.Note(*pair.two, 2, 1, &wait, {.stream = pair.one->number, .sequence = 1});
  pair.streams.Note(*pair.two, 2, 2, after, {});
  pair.two->done = 1;
  pair.streams.DeduceWhatIsDone();
  EXPECT_EQ(pair.one->done, 1u) << "although the executor has not come to say so";
  EXPECT_EQ(pair.streams.TakeDone(*pair.one, pair.one->done), fill);
  EXPECT_EQ(pair.streams.TakeDone(*pair.one, pair.one->done), nullptr);
}

TEST_F(TornRecords, KernelsOfOtherStreamsGoOnAndThoseOfTheSameDoNot) {
  LentPair pair;
  GpuOperation *const kernel = Task(GpuOperation::Work::kLaunch), *const other = Task(GpuOperation::Work::kLaunch);
  GpuOperation* const fill = Fill(0x1000, 8);
  kernel->stream = fill->stream = &pair.first;
  other->stream = &pair.second;
  pair.streams.Note(*pair.one, 1, 1, kernel, {});
  pair.streams.Note(*pair.one, 1, 2, fill, {});
  pair.streams.Note(*pair.two, 2, 1, other, {});
  EXPECT_EQ(pair.streams.TakeDone(*pair.one, 1), kernel);
  EXPECT_FALSE(pair.streams.OthersWentOn(*pair.one, pair.one->unfinished.front()));
  EXPECT_EQ(pair.streams.TakeDone(*pair.two, 1), other);
  EXPECT_TRUE(pair.streams.OthersWentOn(*pair.one, pair.one->unfinished.front()));
}

}  // namespace
}  // namespace tutti::device::gpu
