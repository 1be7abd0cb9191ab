// What a server has an executor do, in order: records of a ring in shared memory (executor/protocol/exchange.h).
//
// The server writes them from what it has validated. The executor checks sizes and numbers all the same, since it must
// not be led astray by a bug; it is expendable otherwise.
//
// `stream` is one of the executor's own, which the server lends to clients' streams. Each record of a stream that the
// vendor's driver is given has a sequence number, from 1, without gaps; the ledger says how far a stream has come.
#pragma once

#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "wire/limits.h"
#include "wire/ring_layout.h"

namespace tutti::executor {

inline constexpr uint32_t kMostStreams = 256;
inline constexpr uint32_t kUnitBytes = 64;  // records begin at multiples of this
inline constexpr uint32_t kRingBytes = 1 << 20;
inline constexpr uint32_t kMostAhead = 512;  // records that a stream is given and that are not done

enum class DispatchKind : uint32_t {
  kNothing = 0,  // fills the ring's end
  kOpenStream = 1,  // without a sequence number; before the stream's first other record
  kLaunch = 2,
  kCopy = 3,
  kFill = 4,
  kWait = 5,  // for what another stream has been given before
  kPoint = 6,  // without a sequence number: others may come to wait for what the stream has been given up to now
  kTime = 7,  // when the stream gets there is to be told (Exchange::times)
};

struct DispatchHead {
  uint32_t bytes = 0;  // with this head and what follows it
  DispatchKind kind = DispatchKind::kNothing;
  uint32_t stream = 0;
  uint32_t reserved = 0;
  uint64_t sequence = 0;
};
static_assert(sizeof(DispatchHead) == 24);

struct OpenStreamDispatch {
  int32_t priority = 0;
  uint32_t reserved = 0;
};

// The kernel's parameter buffer follows.
struct LaunchDispatch {
  uint32_t module = 0;  // as the server has numbered it
  uint32_t kernel = 0;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t cluster[3] = {};  // 1, 1, 1: none
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cooperative = 0;
  uint32_t argument_bytes = 0;
};
static_assert(sizeof(LaunchDispatch) == 56);

using CopyDispatch = wire::CopyBody;
using FillDispatch = wire::FillBody;

// From the first byte of rows to their last; more than there is of anything if that is no number of 64 bits.
constexpr uint64_t ReachOf(uint64_t row_bytes, uint64_t rows, uint64_t pitch, uint64_t planes, uint64_t plane) {
  if (row_bytes == 0 || rows == 0 || planes == 0) return 0;
  const auto to_last_row = CheckedMul(rows - 1, pitch), to_last_plane = CheckedMul(planes - 1, plane);
  const auto to_last = to_last_row && to_last_plane ? CheckedAdd(*to_last_row, *to_last_plane) : std::nullopt;
  return (to_last ? CheckedAdd(*to_last, row_bytes) : std::nullopt).value_or(UINT64_MAX);
}
static_assert(ReachOf(4, 3, 16, 2, 100) == 136 && ReachOf(4, uint64_t{1} << 33, uint64_t{1} << 32, 1, 0) == UINT64_MAX);

struct WaitDispatch {
  uint32_t other_stream = 0;
  uint32_t reserved = 0;
  uint64_t other_sequence = 0;  // the last that is waited for
};

struct PointDispatch {};
struct TimeDispatch {};

inline constexpr uint32_t kMostRecordBytes = sizeof(DispatchHead) + sizeof(LaunchDispatch) + wire::kMaxArgumentBytes;

}  // namespace tutti::executor
