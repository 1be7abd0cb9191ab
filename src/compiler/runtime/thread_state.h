// Where a warp's threads stand that run one after the other, each by scalar code (compiler/threads/): shared by that
// code and by the function that lets them take turns (thread_warp.cc).
//
// A thread runs until it comes to a *stop*: an operation that other lanes or warps have a part in, or its end. There it
// writes down what it needs and returns. It is called again when it may go on, behind that place.
#pragma once

#include <stdint.h>

#include "guest/cpu/kernel_abi.h"

namespace tutti::guest_runtime {

enum class Stop : uint32_t {
  kEnd = 0,  // of the thread
  kTogether,  // lanes that come to this place go on together, as far as they do not wait elsewhere
  kYield,
  kActiveMask,
  kBarrier,  // `detail`: guest::BarrierMode
  kBarrierReduce,  // `detail`: as GuestServices::barrier_reduce has it
  kWrite,  // in front of what others than its block can see (threads/renewal.h)
  // With the lanes of `members`, wherever in the program they are:
  kShuffle,  // `detail`: ShuffleMode
  kBallot,
  kMatchAny,
  kMatchAll,
  kRedux,  // `detail`: ReduxKind
  kElect,
  kWarpBarrier,
};

constexpr bool IsOfMembers(Stop stop) { return stop >= Stop::kShuffle; }

enum class ShuffleMode : uint32_t { kIdx, kUp, kDown, kBfly };
enum class ReduxKind : uint32_t { kAdd, kMin, kMax, kUmin, kUmax, kAnd, kOr, kXor };

// One thread. What its code keeps over a stop follows: the frame.
struct ThreadState {
  uint32_t place;  // where its code goes on; 0: at its beginning
  Stop stop;  // where it is
  uint32_t detail;
  uint32_t members;  // or the barrier's number
  uint64_t arguments[3];  // at a barrier: how many threads, the vote
  uint64_t result;
  uint32_t second;  // result: a predicate
  uint32_t location;  // of the stop, in KernelDescriptor::locations
  uint32_t lane;
  uint32_t tid[3];
  uint32_t phase;  // of the barrier that it has arrived at
  uint32_t has_arrived;
};

// What all threads of a warp share. A limit is the first distance from a base at which kSpare bytes do not fit.
struct ThreadWarp {
  guest::WarpState* warp;
  guest::BlockState* block;
  uint64_t window_base, window_limit;
  uint64_t shared_base, shared_limit;
  uint64_t local_base, local_limit;
  const guest::KernelDescriptor* code;  // BlockState::code and newest
  const guest::KernelDescriptor* const* newest;
};
inline constexpr uint64_t kSpare = 32;  // the largest access

using ThreadCode = void (*)(ThreadWarp*, ThreadState*);

}  // namespace tutti::guest_runtime
