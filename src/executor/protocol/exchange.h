// The memory file of a server and one place of an executor: the ring of records, how far the executor has come, what
// kernels print, and the failure.
//
// The server believes nothing of what it reads here: kernels of the executor's client run in the same process as the
// executor's driver. It takes each word once and checks it against what it has given out (device/gpu/executor_link.h).
//
// Each side can sleep. The executor sleeps on `bell`, the server on an eventfd of the executor's, among others.
// Who goes to sleep says so, and looks once more; who has something new, reads whether the other sleeps (seq_cst).
#pragma once

#include <atomic>
#include <cstdint>

#include "executor/protocol/dispatch.h"
#include "guest/gpu/fenced_ptx.h"

namespace tutti::executor {

struct alignas(64) LedgerStream {
  std::atomic<uint64_t> issued;  // the last sequence number that the driver may have been given: written before it is
  std::atomic<uint64_t> done;  // the last one that is done
};

inline constexpr uint32_t kFailureTextBytes = 240;

// Text that kernels have printed. What is printed before a record is done, comes before that.
inline constexpr uint64_t kTextBytes = 64 << 10;
struct TextRing {
  alignas(64) std::atomic<uint64_t> produced;  // bytes ever, by the executor
  alignas(64) std::atomic<uint64_t> consumed;  // by the server
  alignas(64) uint8_t bytes[kTextBytes];
};

// What the driver has been given can be withdrawn where nothing of it has begun, and it waits for others' kernels
// (executor/launches.h). The server asks, and may take that back until the executor has taken it; the answer is taken
// by the server.
enum class Withdrawal : uint32_t {
  kNone = 0,
  kLook = 1,  // asked: whether anything has begun
  kAsked = 2,  // asked: that nothing begins any more, if nothing has
  kTaken = 3,
  kHasBegun = 4,  // or may have
  kHasNotBegun = 5,  // to kLook
  kDone = 6,  // to kAsked: nothing more is taken from the ring, or done, and all that is done has been told
};
inline bool IsQuestion(Withdrawal word) { return word == Withdrawal::kLook || word == Withdrawal::kAsked; }

struct Exchange {
  // the server's
  alignas(64) std::atomic<uint64_t> tail;  // bytes ever written to the ring
  std::atomic<uint32_t> bell;  // futex
  std::atomic<uint32_t> server_sleeps;  // the executor takes it back
  alignas(64) std::atomic<Withdrawal> withdrawal;  // of both
  // the executor's
  alignas(64) std::atomic<uint64_t> head;  // bytes ever taken
  std::atomic<uint32_t> executor_sleeps;
  alignas(64) std::atomic<int32_t> failure;  // a CUresult: nothing more is done
  std::atomic<uint32_t> context_lost;  // 1: it is that of the context, and so of all places; written before
  char failure_text[kFailureTextBytes];  // written before
  guest::FenceFault fault;  // written before; of state 0: the failure is no fault of a fenced kernel
  LedgerStream streams[kMostStreams];
  // When a record of kTime was reached, on the clock of NowNs, by its sequence number in its stream: written before it
  // is said to be done. Streams without such records use no page of it.
  alignas(4096) std::atomic<uint64_t> times[kMostStreams][kMostAhead];
  TextRing printed;  // printf
  TextRing failed;  // what assertions say

  alignas(4096) uint8_t ring[kRingBytes];
};

}  // namespace tutti::executor
