// How much work of a client may wait in its server, and who holds it back.
//
// A server takes every record from the ring at once and keeps it until its stream gets to it. It must: what a kernel
// waits for may be set by any later record, of any stream, so a ring left alone behind waiting work could be what keeps
// that work waiting. What has to be bounded is memory, and only whoever fills a stream may be held up for it. So the
// client's library holds the caller back, per stream, once the stream has its share of records waiting; other threads
// and other streams go on. CUDA does the same with queues of 1,024 launches: what works there works here.
//
// The server only believes what it counts: a client whose records weigh more than any library would let through loses
// its session.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::wire {

// What a record weighs while it waits: itself, and its arguments by the KiB.
constexpr uint32_t BacklogWeight(uint64_t argument_bytes) { return 1 + static_cast<uint32_t>(argument_bytes / 1024); }

inline constexpr uint32_t kStreamBacklog = 4096;  // of one stream
inline constexpr uint32_t kLeastStreamBacklog = 64;  // of one stream, however many there are
inline constexpr uint32_t kSharedBacklog = 64 << 10;  // of all streams together, while each has more than its least

// What may wait in one of so many streams.
constexpr uint32_t StreamBacklog(uint32_t streams) {
  return std::clamp(kSharedBacklog / std::max(streams, 1u), kLeastStreamBacklog, kStreamBacklog);
}

// What a server lets wait. Above the sum of what streams hold that are made one after the other, each filled at once to
// what it is allowed then (0.3 million), the least of the rest (0.7 million), and what threads add before they look.
inline constexpr uint32_t kMostBacklog = 5 << 18;

}  // namespace tutti::wire
