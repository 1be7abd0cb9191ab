// What a record may say, at both sides of each limit.
#include "wire/validate.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::wire {
namespace {

// A record of one slot (or more) with `body` in it.
class Record {
 public:
  template <typename Body>
  Record(RecordKind kind, const Body& body, uint32_t stream = 1, size_t more_bytes = 0)
      : bytes_(kBodyBytes + more_bytes) {
    std::memcpy(bytes_.data(), &body, sizeof body);
    raw_ = {.ticket = 100, .kind = kind, .stream = stream, .bytes = bytes_};
  }
  Record& Reply(uint16_t reply) {
    raw_.reply = reply;
    return *this;
  }
  operator Untrusted<RawRecord>() const { return Untrusted(raw_); }

 private:
  std::vector<uint8_t> bytes_;
  RawRecord raw_;
};

struct Nothing {};

bool HeadIsGood(RecordKind kind, uint32_t stream, uint16_t reply = 0) {
  return ValidateHead(Record(kind, Nothing{}, stream).Reply(reply)).has_value();
}

TEST(ValidateHead, RefusesKindsThatDoNotExist) {
  int known = 0;
  for (int kind = 0; kind < 256; ++kind) known += HeadIsGood(static_cast<RecordKind>(kind), 1);
  EXPECT_EQ(known, 40);
  EXPECT_FALSE(HeadIsGood(RecordKind::kNone, 1));
}

TEST(ValidateHead, StreamNumbersLieInTheTable) {
  EXPECT_FALSE(HeadIsGood(RecordKind::kMarker, 0));
  EXPECT_TRUE(HeadIsGood(RecordKind::kMarker, 1));
  EXPECT_TRUE(HeadIsGood(RecordKind::kMarker, kMaxStreams - 1));
  EXPECT_FALSE(HeadIsGood(RecordKind::kMarker, kMaxStreams));
  EXPECT_FALSE(HeadIsGood(RecordKind::kStreamCreate, kMaxStreams));
  EXPECT_FALSE(HeadIsGood(RecordKind::kStreamDestroy, 0));
  EXPECT_FALSE(HeadIsGood(RecordKind::kHostCallDone, ~0u));
  EXPECT_FALSE(HeadIsGood(RecordKind::kStreamFree, 0));
  EXPECT_TRUE(HeadIsGood(RecordKind::kFree, 0)) << "names no stream";
}

TEST(ValidateHead, ReplySlotsLieInTheTable) {
  EXPECT_TRUE(HeadIsGood(RecordKind::kAllocate, 0, kReplySlots - 1));
  EXPECT_FALSE(HeadIsGood(RecordKind::kAllocate, 0, kReplySlots));
  EXPECT_FALSE(HeadIsGood(RecordKind::kPrepare, 0, 0xffff));
  for (const RecordKind kind : {RecordKind::kPrepare, RecordKind::kReset, RecordKind::kConditionCreate,
                                RecordKind::kWord, RecordKind::kMemoryUse, RecordKind::kOccupancy})
    EXPECT_FALSE(HeadIsGood(kind, 0, kReplySlots)) << static_cast<int>(kind);
  EXPECT_TRUE(HeadIsGood(RecordKind::kMarker, 1, 0xffff)) << "is not answered";
}

LaunchBody GoodLaunch() { return {.kernel = 1, .grid = {1, 1, 1}, .block = {1, 1, 1}}; }
bool LaunchIsGood(const LaunchBody& body, size_t more_bytes = 0) {
  return ValidateLaunch(Record(RecordKind::kLaunch, body, 1, more_bytes)).has_value();
}

TEST(ValidateLaunch, GridLimitsAreCudas) {
  auto with = [](uint32_t x, uint32_t y, uint32_t z) {
    LaunchBody body = GoodLaunch();
    body.grid[0] = x, body.grid[1] = y, body.grid[2] = z;
    return LaunchIsGood(body);
  };
  EXPECT_TRUE(with(0x7fffffff, 65535, 65535));
  EXPECT_FALSE(with(0x80000000, 1, 1));
  EXPECT_FALSE(with(1, 65536, 1));
  EXPECT_FALSE(with(1, 1, 65536));
  EXPECT_FALSE(with(0, 1, 1));
  EXPECT_FALSE(with(1, 0, 1));
  EXPECT_FALSE(with(1, 1, 0));
}

TEST(ValidateLaunch, BlockLimitsAreCudas) {
  auto with = [](uint32_t x, uint32_t y, uint32_t z) {
    LaunchBody body = GoodLaunch();
    body.block[0] = x, body.block[1] = y, body.block[2] = z;
    return LaunchIsGood(body);
  };
  EXPECT_TRUE(with(1024, 1, 1));
  EXPECT_TRUE(with(4, 4, 64));
  EXPECT_FALSE(with(1025, 1, 1));
  EXPECT_FALSE(with(1024, 2, 1));
  EXPECT_FALSE(with(1, 1, 65));
  EXPECT_FALSE(with(0, 1, 1));
}

TEST(ValidateLaunch, ArgumentsLieInsideTheRecord) {
  LaunchBody body = GoodLaunch();
  body.argument_bytes = kBodyBytes - kLaunchFixedBytes;
  EXPECT_TRUE(LaunchIsGood(body));
  ++body.argument_bytes;
  EXPECT_FALSE(LaunchIsGood(body));
  EXPECT_TRUE(LaunchIsGood(body, kContinuationBytes));
  body.argument_bytes = ~0u;
  EXPECT_FALSE(LaunchIsGood(body, kContinuationBytes));
}

TEST(ValidateLaunch, ArgumentsInTheWindowDoNotWrap) {
  struct {
    LaunchBody body = GoodLaunch();
    uint64_t address = 0x2000'0000'0000;
  } launch;
  launch.body.flags = kLaunchArgumentsInWindow;
  launch.body.argument_bytes = kMaxArgumentBytes;
  const auto good = ValidateLaunch(Record(RecordKind::kLaunch, launch));
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->arguments_address, launch.address);
  EXPECT_TRUE(good->arguments.empty());
  launch.address = ~0ull - 100;
  EXPECT_FALSE(ValidateLaunch(Record(RecordKind::kLaunch, launch)).has_value());
  launch.address = 0x2000'0000'0000;
  ++launch.body.argument_bytes;
  EXPECT_FALSE(ValidateLaunch(Record(RecordKind::kLaunch, launch)).has_value());
}

TEST(ValidateLaunch, ClusterDividesTheGrid) {
  LaunchBody body = GoodLaunch();
  body.grid[0] = 8;
  body.cluster_packed = 2 | 1 << 8 | 1 << 16;
  const auto good = ValidateLaunch(Record(RecordKind::kLaunch, body));
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->cluster[0], 2u);
  body.cluster_packed = 3 | 1 << 8 | 1 << 16;
  EXPECT_FALSE(LaunchIsGood(body));
  body.cluster_packed = 2;  // 2 x 0 x 0
  EXPECT_FALSE(LaunchIsGood(body));
  body.grid[0] = 32;
  body.cluster_packed = 32 | 1 << 8 | 1 << 16;
  EXPECT_FALSE(LaunchIsGood(body));
}

TEST(ValidateCopy, ExtentsDoNotWrap) {
  auto with = [](const CopyBody& body) { return ValidateCopy(Record(RecordKind::kCopy, body)).has_value(); };
  const CopyBody good{.destination = 0x1000,
                      .source = 0x2000,
                      .row_bytes = 64,
                      .rows = 2,
                      .planes = 2,
                      .destination_pitch = 128,
                      .source_pitch = 128,
                      .destination_plane = 256,
                      .source_plane = 256};
  EXPECT_TRUE(with(good));
  for (auto field : {&CopyBody::row_bytes, &CopyBody::rows, &CopyBody::planes}) {
    CopyBody bad = good;
    bad.*field = 0;
    EXPECT_FALSE(with(bad));
    bad.*field = ~0ull;
    EXPECT_FALSE(with(bad));
  }
  for (auto field : {&CopyBody::destination, &CopyBody::source, &CopyBody::destination_pitch, &CopyBody::source_pitch,
                     &CopyBody::destination_plane, &CopyBody::source_plane}) {
    CopyBody bad = good;
    bad.*field = ~0ull;
    EXPECT_FALSE(with(bad));
  }
  // Rows that all lie on one another would copy for ever within a small extent.
  CopyBody endless = good;
  endless.rows = endless.planes = 1ull << 40;
  endless.destination_pitch = endless.source_pitch = endless.destination_plane = endless.source_plane = 0;
  EXPECT_FALSE(with(endless));
}

TEST(ValidateFill, ElementsAndExtents) {
  auto with = [](const FillBody& body) { return ValidateFill(Record(RecordKind::kFill, body)).has_value(); };
  const FillBody good{.destination = 0x1000, .width = 10, .height = 3, .pitch = 64, .element_bytes = 4};
  EXPECT_TRUE(with(good));
  for (const uint32_t bytes : {0u, 3u, 16u, ~0u}) {
    FillBody bad = good;
    bad.element_bytes = bytes;
    EXPECT_FALSE(with(bad)) << bytes;
  }
  for (auto field : {&FillBody::destination, &FillBody::width, &FillBody::height, &FillBody::pitch}) {
    FillBody bad = good;
    bad.*field = ~0ull;
    EXPECT_FALSE(with(bad));
  }
}

TEST(ValidateWait, OnlyThePastCanBeWaitedFor) {
  auto with = [](uint32_t stream, uint64_t ticket) {
    return ValidateWait(Record(RecordKind::kWait, WaitBody{.stream = stream, .ticket = ticket})).has_value();
  };
  EXPECT_TRUE(with(2, 99));
  EXPECT_FALSE(with(2, 100)) << "itself";
  EXPECT_FALSE(with(2, ~0ull));
  EXPECT_FALSE(with(0, 99));
  EXPECT_FALSE(with(kMaxStreams, 99));
}

TEST(ValidateEventRecord, EventsLieInTheTable) {
  auto with = [](uint32_t event) {
    return ValidateEventRecord(Record(RecordKind::kEventRecord, EventRecordBody{event})).has_value();
  };
  EXPECT_TRUE(with(0)) << "no time wanted";
  EXPECT_TRUE(with(kMaxEvents - 1));
  EXPECT_FALSE(with(kMaxEvents));
}

TEST(ValidateStreamCreate, DevicePriorityAndFlagsExist) {
  auto with = [](const StreamCreateBody& body) {
    return ValidateStreamCreate(Record(RecordKind::kStreamCreate, body), 2).has_value();
  };
  EXPECT_TRUE(with({.device = 1, .priority = -5, .flags = kStreamNonBlocking}));
  EXPECT_FALSE(with({.device = 2}));
  EXPECT_FALSE(with({.priority = -6}));
  EXPECT_FALSE(with({.priority = 1}));
  EXPECT_FALSE(with({.flags = 4}));
}

TEST(ValidateAllocate, AlignmentIsAPowerOfTwo) {
  auto with = [](const AllocateBody& body) {
    return ValidateAllocate(Record(RecordKind::kAllocate, body), 1).has_value();
  };
  EXPECT_TRUE(with({.bytes = ~0ull, .alignment = 256})) << "too much is the device's to refuse";
  EXPECT_FALSE(with({.bytes = 1, .alignment = 0}));
  EXPECT_FALSE(with({.bytes = 1, .alignment = 3}));
  EXPECT_FALSE(with({.bytes = 1, .alignment = 256, .kind = static_cast<MemoryKind>(5)}));
  EXPECT_FALSE(with({.bytes = 1, .alignment = 256, .device = 1}));
}

TEST(ValidatePrepare, ShapeIsAnyOrACudaBlock) {
  auto with = [](uint32_t x, uint32_t y, uint32_t z) {
    return ValidatePrepare(Record(RecordKind::kPrepare, PrepareBody{.block = {x, y, z}})).has_value();
  };
  EXPECT_TRUE(with(0, 0, 0));
  EXPECT_TRUE(with(32, 32, 1));
  EXPECT_FALSE(with(32, 0, 0));
  EXPECT_FALSE(with(32, 33, 1));
}

TEST(ValidateContextLimit, IsAPartOfADeviceThatThereIs) {
  const auto good = [](uint32_t device, uint32_t part_ppm) {
    const Record record(RecordKind::kContextLimit,
                        ContextLimitBody{.device = device, .context = 9, .part_ppm = part_ppm});
    return ValidateContextLimit(record, 2).has_value();
  };
  EXPECT_TRUE(good(1, 1));
  EXPECT_TRUE(good(0, kWholeDevice));
  EXPECT_FALSE(good(2, 1));
  EXPECT_FALSE(good(0, kWholeDevice + 1));
}

TEST(ValidateConditional, KindsExistAndEndsSayOneOfTwoThings) {
  const auto kind = [](uint32_t number) {
    const ConditionalBody body{.condition = 1, .kind = static_cast<ConditionalKind>(number)};
    return ValidateConditional(Record(RecordKind::kConditional, body)).has_value();
  };
  EXPECT_TRUE(kind(0));
  EXPECT_TRUE(kind(2));
  EXPECT_FALSE(kind(3));
  const auto end = [](uint32_t no_more) {
    return ValidateConditionalEnd(Record(RecordKind::kConditionalEnd, ConditionalEndBody{.no_more = no_more}))
        .has_value();
  };
  EXPECT_TRUE(end(1));
  EXPECT_FALSE(end(2));
  const auto device = [](uint32_t number) {
    const Record record(RecordKind::kConditionCreate, ConditionCreateBody{.device = number});
    return ValidateConditionCreate(record, 2).has_value();
  };
  EXPECT_TRUE(device(1));
  EXPECT_FALSE(device(2));
}

TEST(ValidateOccupancy, IsOfBlocksThatThereCanBe) {
  const auto good = [](uint32_t threads, uint32_t shared) {
    const OccupancyBody body{.block_threads = threads, .dynamic_shared_bytes = shared};
    return ValidateOccupancy(Record(RecordKind::kOccupancy, body)).has_value();
  };
  EXPECT_TRUE(good(1024, 1u << 20));
  EXPECT_FALSE(good(0, 0));
  EXPECT_FALSE(good(1025, 0));
  EXPECT_FALSE(good(32, (1u << 20) + 1));
}

TEST(ValidateMemoryUse, IsOfADeviceThatThereIs) {
  const auto good = [](uint32_t device) {
    return ValidateMemoryUse(Record(RecordKind::kMemoryUse, MemoryUseBody{.device = device}), 2).has_value();
  };
  EXPECT_TRUE(good(1));
  EXPECT_FALSE(good(2));
}

TEST(ValidateHeapLimit, IsOfADeviceThatThereIs) {
  const auto good = [](uint32_t device) {
    return ValidateHeapLimit(Record(RecordKind::kHeapLimit, HeapLimitBody{.bytes = ~0ull, .device = device}), 2)
        .has_value();
  };
  EXPECT_TRUE(good(1));
  EXPECT_FALSE(good(2));
}

}  // namespace
}  // namespace tutti::wire
