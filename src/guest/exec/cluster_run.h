// The blocks of one cluster, running on one thread by turns: they wait for each other, and reach into each other's
// shared memory, so all of them are there from the first block's begin to the last one's end. The thread changes
// between blocks where one waits, for the cluster's barrier or for memory, and where it has ended; never because it is
// preempted, so code of one block that is not to be interrupted by another's is not.
//
// Belongs to the BlockRun of the first block, through which all others use it. Not thread-safe: one worker at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "guest/exec/block_run.h"
#include "guest/exec/cluster_windows.h"

namespace tutti::guest {

class ClusterRun {
 public:
  explicit ClusterRun(BlockRun* first) : first_(first) {}
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  // As BlockRun's functions of these names, of all blocks.
  Status Prepare(const KernelLaunch& launch, uint64_t index, uint32_t sm);
  void PrepareNext(uint64_t index);
  LeaveReason Run(GuestThread* thread);
  void GiveUp();
  void PassGridBarrier();
  const BlockRun& running_block() const { return block(running_); }

  // Beyond what the first block holds.
  uint64_t held_bytes() const;
  uint64_t held_mappings() const;

  // On the guest's stack: threads of a block have arrived at the cluster's barrier, or ended.
  void CompleteBarrierIfDue();

 private:
  BlockRun& block(uint32_t rank) const { return rank == 0 ? *first_ : *others_[rank - 1]; }
  uint32_t CountRunnable() const;
  uint32_t NextRunnable() const;
  LeaveReason LeaveWithoutRunnable(GuestThread* thread);

  BlockRun* const first_;
  std::vector<std::unique_ptr<BlockRun>> others_;  // by rank; those of the largest cluster so far
  ClusterWindows windows_;
  uint64_t owner_ = 0;  // whose blocks the windows were last for
  uint32_t count_ = 0;  // blocks of this cluster
  uint32_t running_ = 0;  // rank
  bool waits_ = false;  // its kernel has barriers
};

}  // namespace tutti::guest
