#include "guest/exec/cluster_run.h"

#include <bit>

namespace tutti::guest {

Status ClusterRun::Prepare(const KernelLaunch& launch, uint64_t index, uint32_t sm) {
  if (owner_ != launch.owner) {
    windows_.Clean();
    owner_ = launch.owner;
  }
  count_ = launch.cluster_blocks();
  running_ = 0;
  waits_ = (launch.descriptor->flags & kYields) != 0;
  while (others_.size() + 1 < count_) others_.push_back(std::make_unique<BlockRun>());
  TUTTI_TRY(windows_.Require(count_, launch.shared_bytes()));
  for (uint32_t rank = 0; rank < count_; ++rank) {
    TUTTI_TRY(
        block(rank).PrepareAsMember(launch, index * count_ + rank, sm,
                                    {.cluster = this, .view = windows_.view(rank), .first_view = windows_.view(0)}));
  }
  return {};
}

void ClusterRun::PrepareNext(uint64_t index) {
  running_ = 0;
  for (uint32_t rank = 0; rank < count_; ++rank) block(rank).PrepareNextAsMember(index * count_ + rank);
}

LeaveReason ClusterRun::Run(GuestThread* thread) {
  for (uint32_t fruitless = 0;;) {
    block(running_).GoOnWithRunnable();
    const LeaveReason leave = block(running_).RunAlone(thread);
    switch (leave) {
      case LeaveReason::kFinished:
        if (waits_) CompleteBarrierIfDue();
        [[fallthrough]];
      case LeaveReason::kGridBarrier:
      case LeaveReason::kClusterBarrier: fruitless = 0; break;
      case LeaveReason::kYielded: ++fruitless; break;
      default: return leave;  // if the cluster goes on, then with this block
    }
    const uint32_t runnable = CountRunnable();
    if (runnable == 0) return LeaveWithoutRunnable(thread);
    running_ = NextRunnable();
    if (fruitless >= runnable) return LeaveReason::kYielded;
  }
}

uint32_t ClusterRun::CountRunnable() const {
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < count_; ++rank) count += block(rank).CanRun() ? 1 : 0;
  return count;
}

// The next one in the order of ranks.
uint32_t ClusterRun::NextRunnable() const {
  uint32_t rank = running_;
  do rank = rank + 1 == count_ ? 0 : rank + 1;
  while (!block(rank).CanRun());
  return rank;
}

// All have ended, or wait for the grid; or some wait for a phase of the cluster's barrier that cannot end any more.
LeaveReason ClusterRun::LeaveWithoutRunnable(GuestThread* thread) {
  bool all_ended = true;
  for (uint32_t rank = 0; rank < count_; ++rank) {
    BlockRun& block = this->block(rank);
    if (block.has_ended()) continue;
    all_ended = false;
    if (block.IsAtGrid()) continue;
    running_ = rank;
    thread->run = &block;
    thread->fault = {.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed),
                     .warp = static_cast<uint32_t>(std::countr_zero(block.barriers().waiting(kClusterBarrier))),
                     .text = "barrier.cluster that not all threads of the cluster reach"};
    return LeaveReason::kFault;
  }
  return all_ended ? LeaveReason::kFinished : LeaveReason::kGridBarrier;
}

void ClusterRun::CompleteBarrierIfDue() {
  for (uint32_t rank = 0; rank < count_; ++rank) {
    if (!block(rank).has_ended() && !block(rank).barriers().HasArrivedInCluster()) return;
  }
  for (uint32_t rank = 0; rank < count_; ++rank) {
    BlockRun& block = this->block(rank);
    if (!block.has_ended()) block.Release(block.barriers().CompleteOfCluster());
  }
}

void ClusterRun::GiveUp() {
  for (uint32_t rank = 0; rank < count_; ++rank) block(rank).GiveUpAlone();
}

void ClusterRun::PassGridBarrier() {
  for (uint32_t rank = 0; rank < count_; ++rank) block(rank).PassGridBarrierAlone();
  if (!block(running_).CanRun()) running_ = NextRunnable();
}

uint64_t ClusterRun::held_bytes() const {
  uint64_t bytes = windows_.bytes();
  for (const auto& other : others_) bytes += sizeof(BlockRun) + other->own_bytes();
  return bytes;
}

uint64_t ClusterRun::held_mappings() const {
  uint64_t mappings = windows_.mappings();
  for (const auto& other : others_) mappings += other->own_mappings();
  return mappings;
}

}  // namespace tutti::guest
