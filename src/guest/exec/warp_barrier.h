// The 16 named barriers of a block, its cluster barrier and those of its warp groups: who has arrived, who waits, when
// a phase is complete. Pure accounting; switching between warps is BlockRun's. Not thread-safe: a block runs on one
// thread at a time.
//
// In a cluster of several blocks the phase of the cluster barrier ends with all blocks' (ClusterRun): here it only
// comes to stand as full, until CompleteOfCluster.
//
// Two forms. With `threads` = 0 (or all threads of the block) every lane of the block that has not exited must arrive.
// Otherwise `threads` lanes must; a warp whose remaining lanes have all arrived counts as 32, as hardware counts warps.
#pragma once

#include <cstdint>

namespace tutti::guest {

inline constexpr uint32_t kNamedBarriers = 16;
inline constexpr uint32_t kClusterBarrier = kNamedBarriers;  // its number
inline constexpr uint32_t kWarpsOfGroup = 4;
inline constexpr uint32_t kFirstWarpGroupBarrier = kClusterBarrier + 1;  // one for each group of four warps
inline constexpr uint32_t kBarriers = kFirstWarpGroupBarrier + 32 / kWarpsOfGroup;

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
  // The completed phase's votes.
  struct Outcome {
    uint32_t population = 0;
    bool all = true;
    uint32_t Reduce(BarrierReduction op) const;
  };

  // Resets it for a block of `warps` warps and `threads` threads, which is one of several of a cluster or not.
  void Reset(uint32_t warps, uint32_t threads, bool of_several = false);

  // True if this arrival completes the phase: *released are the warps to wake (never the arriving one itself). Not at
  // the cluster barrier of several blocks.
  bool Arrive(const Arrival& arrival, uint32_t* released);
  // For a warp that has arrived without waiting: whether its phase is complete. If not, `warp` waits from now on.
  bool Await(uint32_t id, uint32_t warp);
  // For lanes that wait individually: the open phase, and whether an earlier one has completed since.
  uint32_t phase(uint32_t id) const { return phases_[id]; }
  bool IsOver(uint32_t id, uint32_t phase) const { return phases_[id] != phase; }
  // Lanes of the warp have exited since others arrived; `live` remain. Result as of Arrive.
  bool LanesEnded(uint32_t id, uint32_t warp, uint32_t live, uint32_t* released);
  // `warp` waits, or no longer waits, for the open phase.
  void Wait(uint32_t id, uint32_t warp);
  void StopWaiting(uint32_t id, uint32_t warp) { barriers_[id].waiting &= ~(1u << warp); }
  const Outcome& last_outcome(uint32_t id) const { return last_outcomes_[id]; }
  // An arrival of this form is for the whole block.
  bool IsOfBlock(uint32_t threads) const { return threads == 0 || threads == threads_; }
  // The warp has ended. Returns the warps whose barrier that completes.
  uint32_t WarpFinished(uint32_t warp);
  // Of the last phase in which `warp` took part.
  const Outcome& outcome(uint32_t warp) const { return outcomes_[warp]; }
  uint32_t waiting(uint32_t id) const { return barriers_[id].waiting; }
  // All threads of the block have ended or arrived at the cluster barrier.
  bool HasArrivedInCluster() const { return IsFull(barriers_[kClusterBarrier]); }
  // All blocks have. Returns the warps to wake.
  uint32_t CompleteOfCluster();

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
  bool of_several_ = false;  // blocks, whose cluster barrier is one
  Barrier barriers_[kBarriers];
  Outcome outcomes_[32];
  Outcome last_outcomes_[kBarriers];
  uint32_t phases_[kBarriers] = {};  // completed, over all blocks
  uint32_t arrived_in_[kBarriers][32] = {};  // the phase in which a warp last arrived without waiting
  uint32_t lanes_[kBarriers][32];  // of warps that arrive piecewise: lanes arrived so far
};

}  // namespace tutti::guest
