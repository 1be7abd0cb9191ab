// The 16 named barriers of a block and the one of its cluster: who has arrived, who waits, when a phase is complete.
// Pure accounting; switching between warps is BlockRun's. Not thread-safe: a block runs on one thread at a time.
//
// Two forms. `threads` = 0 (or all threads of the block): every lane of the block that has not exited must arrive.
// Otherwise `threads` lanes must; a warp of which all lanes have arrived that it has left counts as 32, as hardware
// counts warps.
#pragma once

#include <cstdint>

namespace tutti::device::cpu {

inline constexpr uint32_t kNamedBarriers = 16;
inline constexpr uint32_t kClusterBarrier = kNamedBarriers;  // its number
inline constexpr uint32_t kBarriers = kNamedBarriers + 1;

enum class BarrierReduction : uint32_t { kPopulation = 0, kAnd = 1, kOr = 2 };

class WarpBarriers {
 public:
  struct Arrival {
    uint32_t id;
    uint32_t warp;
    uint32_t mask;  // lanes that arrive
    uint32_t live;  // lanes of the warp that have not exited
    uint32_t threads;
    bool wait;
    uint32_t votes = 0;  // predicates of the lanes in `mask`, for a reduction
  };
  // What the completed phase's participants voted.
  struct Outcome {
    uint32_t population = 0;
    bool all = true;
    uint32_t Reduce(BarrierReduction op) const;
  };

  // A new block of `warps` warps and `threads` threads.
  void Reset(uint32_t warps, uint32_t threads);

  // True if the phase is complete with this arrival: then *released are the warps that waited, to be let go on (never
  // the arriving one itself).
  bool Arrive(const Arrival& arrival, uint32_t* released);
  // Of a warp that has arrived without waiting: the phase is complete by now. If not, `warp` waits from now on.
  bool Await(uint32_t id, uint32_t warp);
  // For lanes that wait by themselves: the phase that is open, and whether one that was has been completed since.
  uint32_t phase(uint32_t id) const { return phases_[id]; }
  bool IsOver(uint32_t id, uint32_t phase) const { return phases_[id] != phase; }
  // Lanes of the warp have ended since others arrived; `live` have not. As Arrive.
  bool LanesEnded(uint32_t id, uint32_t warp, uint32_t live, uint32_t* released);
  // `warp` waits, or no longer waits, for the open phase.
  void Wait(uint32_t id, uint32_t warp);
  void StopWaiting(uint32_t id, uint32_t warp) { barriers_[id].waiting &= ~(1u << warp); }
  const Outcome& last_outcome(uint32_t id) const { return last_outcomes_[id]; }
  // An arrival of this form is for the whole block.
  bool IsOfBlock(uint32_t threads) const { return threads == 0 || threads == threads_; }
  // The warp has ended. Returns the warps whose barrier is complete by that.
  uint32_t WarpFinished(uint32_t warp);
  // Of the phase in which `warp` took part last.
  const Outcome& outcome(uint32_t warp) const { return outcomes_[warp]; }
  uint32_t waiting(uint32_t id) const { return barriers_[id].waiting; }

 private:
  struct Barrier {
    uint32_t waiting = 0;  // warps
    uint32_t arrived = 0;  // warps of which all live lanes have arrived (full form)
    uint32_t count = 0;  // lanes arrived (counted form)
    bool used = false;
    bool counted = false;
    bool partial = false;  // lanes_ has entries
    Outcome outcome;
  };
  bool IsFull(const Barrier& barrier) const { return (barrier.arrived | finished_) == all_warps_; }
  uint32_t Complete(uint32_t id, uint32_t last_warp);

  uint32_t all_warps_ = 0;
  uint32_t finished_ = 0;
  uint32_t threads_ = 0;
  uint32_t used_ = 0;  // barriers with an open phase
  Barrier barriers_[kBarriers];
  Outcome outcomes_[32];
  Outcome last_outcomes_[kBarriers];
  uint32_t phases_[kBarriers] = {};  // completed, over all blocks
  uint32_t arrived_in_[kBarriers][32] = {};  // the phase in which a warp arrived last without waiting
  uint32_t lanes_[kBarriers][32];  // lanes arrived so far of warps that arrive piecewise
};

}  // namespace tutti::device::cpu
