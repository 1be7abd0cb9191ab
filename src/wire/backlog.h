// Backpressure: how much submitted work of a client may be pending in its server, and who blocks when it is too much.
//
// The server takes every record out of the ring at once and queues it until its stream reaches it. It has to: a kernel
// may wait for a flag that any later record of any stream sets, so leaving records in the ring behind pending work
// could deadlock the client. Only memory has to be bounded, and only the thread that fills a stream may block for it.
// The client library therefore throttles per stream: a caller blocks once its stream has its share of records pending,
// while other threads and streams go on. CUDA does the same with queues of 1,024 launches, so what works there works
// here.
//
// The server trusts its own count only: a client whose pending records weigh more than any client library would let
// through loses its session.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::wire {

// The weight of a pending record: one, plus one per KiB of arguments.
constexpr uint32_t BacklogWeight(uint64_t argument_bytes) { return 1 + static_cast<uint32_t>(argument_bytes / 1024); }

inline constexpr uint32_t kStreamBacklog = 4096;  // of one stream
inline constexpr uint32_t kLeastStreamBacklog = 64;  // of one stream, however many there are
inline constexpr uint32_t kSharedBacklog = 64 << 10;  // of all streams together, while each is above its minimum

// The bound on one stream's pending weight when the client has `streams` of them.
constexpr uint32_t StreamBacklog(uint32_t streams) {
  return std::clamp(kSharedBacklog / std::max(streams, 1u), kLeastStreamBacklog, kStreamBacklog);
}

// The server's bound per client. It exceeds what a correct library can submit: streams created one after the other,
// each filled at once to its bound of that moment (0.3 million), the minimum of all others (0.7 million), and what
// threads add between two checks.
inline constexpr uint32_t kMostBacklog = 5 << 18;

}  // namespace tutti::wire
