// Runs a warp whose code is that of one thread. Which threads go on when all have stopped:
//
//   1. operations of which all members are there, or have ended, are done, and these lanes go on
//   2. else, of the lanes that only keep together or ask who is there, those at the place that comes first in the
//      program (threads/program_order.h): lanes in a loop go on before those that have left it, so they meet again
//      behind it, as in lockstep
//   3. else barriers, and lanes that yield: other warps run
//
// In front of the first thing that others than the block can see, lanes wait until the whole block can go no further
// without it: until then it may begin anew.
//
// So a lane waits for lanes of its warp only where it must, and programs that count on lockstep without saying so have
// it at the accesses that show it.
#include "compiler/runtime/legal_access.h"
#include "compiler/runtime/thread_state.h"
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;
using tutti::guest::BarrierMode;
using tutti::guest::BlockState;
using tutti::guest::GuestServices;
using tutti::guest::WarpMistake;
using tutti::guest::WarpState;

namespace {

uint64_t LimitOf(uint64_t bytes) { return bytes < kSpare ? 0 : bytes - kSpare + 1; }

WarpMistake MistakeOf(Stop stop) {
  switch (stop) {
    case Stop::kShuffle: return WarpMistake::kShuffle;
    case Stop::kBallot: return WarpMistake::kVote;
    case Stop::kRedux: return WarpMistake::kRedux;
    case Stop::kElect: return WarpMistake::kElect;
    case Stop::kWarpBarrier: return WarpMistake::kWarpBarrier;
    default: return WarpMistake::kMatch;
  }
}

uint32_t Reduced(ReduxKind kind, uint32_t a, uint32_t b) {
  switch (kind) {
    case ReduxKind::kAdd: return a + b;
    case ReduxKind::kMin: return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
    case ReduxKind::kMax: return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b;
    case ReduxKind::kUmin: return a < b ? a : b;
    case ReduxKind::kUmax: return a > b ? a : b;
    case ReduxKind::kAnd: return a & b;
    case ReduxKind::kOr: return a | b;
    case ReduxKind::kXor: return a ^ b;
  }
  return a;
}

class Threads {
 public:
  Threads(WarpState* warp, uint8_t* states, uint32_t state_bytes)
      : states_(states), state_bytes_(state_bytes), services_(warp->block->services) {
    const BlockState* block = warp->block;
    shared_ = {.warp = warp,
               .block = warp->block,
               .window_base = block->reach_base,
               .window_limit = LimitOf(block->reach_bytes),
               .shared_base = reinterpret_cast<uint64_t>(block->shared),
               .shared_limit = LimitOf(block->shared_bytes),
               .local_base = reinterpret_cast<uint64_t>(warp->local),
               .local_limit = LimitOf(uint64_t{warp->local_bytes} * TUTTI_LANES),
               .code = block->code,
               .newest = block->newest};
    ForEachLane(warp->lanes, [&](uint32_t lane) {
      ThreadState& thread = Of(lane);
      const uint32_t index = warp->warp * TUTTI_LANES + lane;
      thread.place = 0;
      thread.lane = lane;
      thread.tid[0] = index % block->block[0];
      thread.tid[1] = index / block->block[0] % block->block[1];
      thread.tid[2] = index / block->block[0] / block->block[1];
      thread.has_arrived = 0;
    });
  }

  void Run(ThreadCode code) {
    uint32_t next = warp()->lanes;
    while (next != 0) {
      uint32_t ended = 0;
      ForEachLane(next, [&](uint32_t lane) {
        code(&shared_, &Of(lane));
        ended |= static_cast<uint32_t>(Of(lane).stop == Stop::kEnd) << lane;
      });
      if (ended != 0) warp()->lanes &= ~ended;
      next = warp()->lanes != 0 ? Next() : 0;
    }
  }

 private:
  WarpState* warp() const { return shared_.warp; }
  ThreadState& Of(uint32_t lane) const {
    return *reinterpret_cast<ThreadState*>(states_ + uint64_t{lane} * state_bytes_);
  }
  uint32_t alive() const { return warp()->lanes; }

  template <typename Predicate>
  uint32_t Those(uint32_t among, Predicate predicate) const {
    uint32_t lanes = 0;
    ForEachLane(among, [&](uint32_t lane) { lanes |= static_cast<uint32_t>(predicate(Of(lane))) << lane; });
    return lanes;
  }
  uint32_t At(Stop stop) const {
    return Those(alive(), [stop](const ThreadState& thread) { return thread.stop == stop; });
  }

  uint32_t Next() {
    uint32_t next = 0;
    do {
      next = DoOperations();
      if (next == 0) next = KeepTogether();
      if (next == 0) next = PassBarriers();
      if (next == 0 && AwaitWrites()) next = At(Stop::kYield);
    } while (next == 0 && At(Stop::kWrite) != 0);
    if (next == 0) next = Yield();
    if (next == 0) ReportMissing();
    return next;
  }

  uint32_t FirstPlace(uint32_t among) const {
    uint32_t first = ~0u;
    ForEachLane(among, [&](uint32_t lane) { first = Of(lane).place < first ? Of(lane).place : first; });
    return Those(among, [first](const ThreadState& thread) { return thread.place == first; });
  }

  // Of the lanes in `among` those that do the same as `lane` and name the same members.
  uint32_t GroupOf(uint32_t lane, uint32_t among) const {
    const ThreadState& first = Of(lane);
    return Those(among, [&first](const ThreadState& thread) {
      return thread.stop == first.stop && thread.detail == first.detail && thread.members == first.members;
    });
  }
  uint32_t Missing(uint32_t lane, uint32_t group) const { return Of(lane).members & alive() & ~group; }

  uint32_t WaitForMembers() const {
    return Those(alive(), [](const ThreadState& thread) { return IsOfMembers(thread.stop); });
  }

  uint32_t DoOperations() {
    uint32_t done = 0;
    for (uint32_t rest = WaitForMembers(); rest != 0;) {
      const auto first = static_cast<uint32_t>(__builtin_ctz(rest));
      const uint32_t group = GroupOf(first, rest);
      if (Missing(first, group) == 0) {
        Do(group);
        done |= group;
      }
      rest &= ~group;
    }
    return done;
  }

  void Do(uint32_t group) {
    ThreadState& first = Of(static_cast<uint32_t>(__builtin_ctz(group)));
    switch (first.stop) {
      case Stop::kShuffle: return Shuffle(group, static_cast<ShuffleMode>(first.detail));
      case Stop::kBallot: {
        const uint32_t votes = Those(group, [](const ThreadState& thread) { return (thread.arguments[0] & 1) != 0; });
        return ForEachLane(group, [&](uint32_t lane) { Of(lane).result = votes; });
      }
      case Stop::kMatchAny:
        return ForEachLane(group, [&](uint32_t lane) {
          const uint64_t value = Of(lane).arguments[0];
          Of(lane).result = Those(group, [value](const ThreadState& thread) { return thread.arguments[0] == value; });
        });
      case Stop::kMatchAll: {
        const uint64_t value = first.arguments[0];
        const bool all =
            Those(group, [value](const ThreadState& thread) { return thread.arguments[0] == value; }) == group;
        return ForEachLane(group, [&](uint32_t lane) {
          Of(lane).result = all ? group : 0;
          Of(lane).second = all;
        });
      }
      case Stop::kRedux: {
        const auto kind = static_cast<ReduxKind>(first.detail);
        auto result = static_cast<uint32_t>(first.arguments[0]);
        ForEachLane(group & (group - 1), [&](uint32_t lane) {
          result = Reduced(kind, result, static_cast<uint32_t>(Of(lane).arguments[0]));
        });
        return ForEachLane(group, [&](uint32_t lane) { Of(lane).result = result; });
      }
      case Stop::kElect: return ForEachLane(group, [&](uint32_t lane) { Of(lane).result = &Of(lane) == &first; });
      default: return;
    }
  }

  // As the PTX ISA has it, and widen/warp/shuffle.cc.
  void Shuffle(uint32_t group, ShuffleMode mode) {
    uint64_t values[TUTTI_LANES];
    for (uint64_t& value : values) value = 0;
    ForEachLane(group, [&](uint32_t lane) { values[lane] = Of(lane).arguments[0]; });
    ForEachLane(group, [&](uint32_t lane) {
      ThreadState& thread = Of(lane);
      const auto b = static_cast<int32_t>(thread.arguments[1] & 31);
      const auto clamp = static_cast<int32_t>(thread.arguments[2] & 31);
      const auto segment = static_cast<int32_t>(thread.arguments[2] >> 8 & 31);
      const auto self = static_cast<int32_t>(lane);
      const int32_t low = self & segment, high = low | (clamp & ~segment);
      int32_t from = self - b;
      if (mode == ShuffleMode::kDown) from = self + b;
      if (mode == ShuffleMode::kBfly) from = self ^ b;
      if (mode == ShuffleMode::kIdx) from = low | (b & ~segment);
      const bool in_range = mode == ShuffleMode::kUp ? from >= high : from <= high;
      thread.result = values[(in_range ? from : self) & 31];
      thread.second = in_range;
    });
  }

  // Where lanes are to write first, none that only keeps together goes on before them.
  uint32_t KeepTogether() {
    const uint32_t here = FirstPlace(At(Stop::kTogether) | At(Stop::kActiveMask) | At(Stop::kWrite));
    if ((here & At(Stop::kWrite)) != 0 && !Writes()) return 0;
    ForEachLane(here, [&](uint32_t lane) { Of(lane).result = here; });
    return here;
  }

  bool Writes() const { return __atomic_load_n(&shared_.block->writes, __ATOMIC_RELAXED) != 0; }
  // False: no lane is to write.
  bool AwaitWrites() {
    if (At(Stop::kWrite) == 0) return false;
    services_->await_writes(warp());
    return true;
  }

  static bool IsBarrier(const ThreadState& thread) {
    return thread.stop == Stop::kBarrier || thread.stop == Stop::kBarrierReduce;
  }
  static bool Waits(const ThreadState& thread) {
    return thread.stop == Stop::kBarrierReduce || static_cast<BarrierMode>(thread.detail) != BarrierMode::kArrive;
  }

  uint32_t PassBarriers() {
    const uint32_t at = Those(alive(), IsBarrier);
    if (at == 0) return 0;
    const uint32_t coming = Those(at, [](const ThreadState& thread) { return thread.has_arrived == 0; });
    uint32_t next = 0;
    for (uint32_t rest = coming; rest != 0;) {
      const auto first = static_cast<uint32_t>(__builtin_ctz(rest));
      const ThreadState& thread = Of(first);
      const uint32_t group = Those(rest, [&thread](const ThreadState& other) {
        return other.stop == thread.stop && other.detail == thread.detail && other.members == thread.members &&
               other.arguments[0] == thread.arguments[0];
      });
      next |= Arrive(group, thread);
      rest &= ~group;
    }
    return next != 0 ? next : Await(at);
  }

  // The lanes of `group`, all at the barrier that `thread` is at; returns those that go on at once.
  uint32_t Arrive(uint32_t group, const ThreadState& thread) {
    const auto threads = static_cast<uint32_t>(thread.arguments[0]);
    const uint32_t id = thread.members;
    const uint32_t votes = Those(group, [](const ThreadState& other) { return (other.arguments[1] & 1) != 0; });
    if (group == alive() || !Waits(thread)) {
      if (thread.stop == Stop::kBarrier) {
        services_->barrier(warp(), group, id, threads, static_cast<BarrierMode>(thread.detail));
      } else {
        const uint32_t result = services_->barrier_reduce(warp(), group, id, threads, thread.detail, votes);
        ForEachLane(group, [&](uint32_t lane) { Of(lane).result = result; });
      }
      return group;
    }
    const uint32_t phase = services_->barrier_enter(warp(), group, id, threads, votes);
    ForEachLane(group, [&](uint32_t lane) {
      Of(lane).phase = phase;
      Of(lane).has_arrived = 1;
    });
    return 0;
  }

  // All of them have arrived. Waits if no other lane of the warp can go on.
  uint32_t Await(uint32_t at) {
    uint32_t ids[TUTTI_LANES], phases[TUTTI_LANES];
    ForEachLane(at, [&](uint32_t lane) {
      ids[lane] = Of(lane).members;
      phases[lane] = Of(lane).phase;
    });
    const uint32_t passed =
        services_->barrier_pass(warp(), at, ids, phases, (At(Stop::kYield) | At(Stop::kWrite)) == 0);
    ForEachLane(passed, [&](uint32_t lane) {
      ThreadState& thread = Of(lane);
      thread.has_arrived = 0;
      if (thread.stop == Stop::kBarrierReduce)
        thread.result = services_->barrier_outcome(warp(), thread.members, thread.detail);
    });
    return passed;
  }

  uint32_t Yield() {
    const uint32_t at = At(Stop::kYield);
    if (at != 0) services_->yield(warp());
    return at;
  }

  // All that are left wait for lanes that wait elsewhere.
  void ReportMissing() {
    const uint32_t waiting = WaitForMembers();
    const auto first = static_cast<uint32_t>(__builtin_ctz(waiting));
    const ThreadState& thread = Of(first);
    services_->mistake(warp(), MistakeOf(thread.stop), first, Missing(first, GroupOf(first, waiting)), thread.location);
  }

  uint8_t* const states_;
  const uint32_t state_bytes_;
  const GuestServices* const services_;
  ThreadWarp shared_;
};

}  // namespace

// `states`: 32 times `state_bytes`, each of them a ThreadState and its frame; a multiple of 16.
TUTTI_SUPPORT void tutti_support_run_threads(WarpState* warp, ThreadCode code, uint8_t* states, uint32_t state_bytes) {
  Threads(warp, states, state_bytes).Run(code);
}

// An access of `thread` that is not in the memory in which it most likely is: ends the kernel if it is illegal.
// `what`: memories and alignment (memories.h).
TUTTI_SUPPORT void tutti_support_check_thread(ThreadWarp* shared, ThreadState* thread, uint64_t address, uint32_t bytes,
                                              uint32_t location, uint32_t what, uint32_t param_bytes) {
  tutti_support_check(shared->warp, address, bytes, thread->lane, location, what, param_bytes);
}
