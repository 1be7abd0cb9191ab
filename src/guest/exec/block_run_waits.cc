// Which of a block's warps goes on when one waits.
#include <bit>

#include "guest/exec/block_run.h"
#include "guest/exec/sanitizers.h"

namespace tutti::guest {

void BlockRun::GoOnInOrder(uint32_t released, bool downwards) {
  Release(released);
  downwards_ = downwards;
  const auto first = static_cast<uint32_t>(downwards ? 31 - std::countl_zero(runnable_) : std::countr_zero(runnable_));
  if (first != running_) SwitchTo(first);
}

// Something else may make warps runnable; if nothing can, the program is wrong.
TUTTI_NO_SANITIZE void BlockRun::LeaveWithoutRunnable(const char* mistake) {
  if (at_grid_ == unfinished_) {
    LeaveGuest(thread_, LeaveReason::kGridBarrier);
  } else if (cluster_ != nullptr && barriers_.waiting(kClusterBarrier) != 0) {
    LeaveGuest(thread_, LeaveReason::kClusterBarrier);
  } else {
    const bool has_ended = (unfinished_ >> running_ & 1) == 0;
    Fail(
        {.kind = static_cast<uint32_t>(FaultKind::kLaunchFailed), .warp = has_ended ? ~0u : running_, .text = mistake});
  }
}

void BlockRun::WaitForRelease() {
  runnable_ &= ~(1u << running_);
  if (runnable_ == 0) {
    LeaveWithoutRunnable("barrier that no warp can complete");
  } else {
    SwitchTo(NextRunnable());
  }
}

void BlockRun::YieldWarp() {
  const uint32_t next = NextRunnable();
  if (++fruitless_yields_ >= static_cast<uint32_t>(std::popcount(runnable_))) {
    fruitless_yields_ = 0;
    if (awaits_writes_) return BeginToWrite();
    LeaveGuest(thread_, LeaveReason::kYielded);
    return;
  }
  if (next != running_) SwitchTo(next);
}

void BlockRun::BeginAnewIfItCan() {
  if (block_.writes == 0 && !HasNewest()) LeaveGuest(thread_, LeaveReason::kNewerCode);
}

// Warps that meet again and again until one has written would keep it from that for ever, if no newer code came. Those
// that work between their meetings are done with so many long after it has come.
void BlockRun::AwaitWrites() {
  constexpr uint32_t kMostReleases = 1 << 20;
  if (block_.writes != 0) return;
  awaits_writes_ = true;
  releases_ < kMostReleases ? YieldWarp() : BeginToWrite();
}

// One warp is about to write, and all that can run have yielded, or others have gone on for too long. The first goes on
// first, as where none waits.
void BlockRun::BeginToWrite() {
  BeginAnewIfItCan();
  awaits_writes_ = false;
  block_.writes = 1;
  GoOnInOrder(0, downwards_);
}

void BlockRun::ArriveAtGrid(uint32_t warp) {
  at_grid_ |= 1u << warp;
  runnable_ &= ~(1u << warp);
  if (runnable_ != 0) {
    SwitchTo(NextRunnable());
  } else {
    LeaveWithoutRunnable("grid barrier that not all warps of a block reach");
  }
}

}  // namespace tutti::guest
