// What a client may be given of a GPU's time: by its percentage, and by its priority.
//
// A driver takes whole kernels and gives none back. So a percentage is held in time: what the client's kernels (and
// whatever else takes SMs) have had of the GPU is taken from a budget that fills at that rate (device/common/cap.h),
// and while that is used up nothing more is given. Thus it holds in the long run, for kernels of any length. A client
// with a limit has little ahead of it in the driver's streams, since what is there cannot be held back. A client below
// normal is given nothing while normal ones have work on the GPU.
//
// A kernel may wait for one that its client has launched behind it, in another stream. So where the client's work has
// the GPU for long without any of it ending, one of the driver's streams that are idle is given one record more,
// whatever the limits, and so on. Guarded by the Space's lock, but where it says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/common/cap.h"
#include "executor/protocol/dispatch.h"

namespace tutti::device::gpu {

class TimeGate {
 public:
  static constexpr uint32_t kMostAhead = executor::kMostAhead;  // records: half of what fills a stream of the driver's
  static constexpr uint32_t kLeastAhead = 2;  // so that the GPU need not wait for us between two kernels
  static constexpr uint64_t kAheadNs = 1'000'000;  // of work, where there is a limit
  static constexpr uint64_t kStallNs = 50'000'000;  // half of the kernel limit, where that is less

  // Above 0, at most 100: no limit.
  void SetPercentage(double percentage, uint64_t now_ns) { cap_.Change(percentage / 100, 1, now_ns); }
  // Others may precede the client, and so little is ahead of it. While they do it is given nothing.
  void SetBelowNormal(bool below) { below_.store(below, std::memory_order_relaxed); }
  void SetYields(bool yields) { yields_.store(yields, std::memory_order_relaxed); }
  // On any thread.
  bool below_normal() const { return below_.load(std::memory_order_relaxed); }
  bool yields() const { return yields_.load(std::memory_order_relaxed); }
  // Of the client's time on the GPU in which nothing ends; 0: none. That is less where one kernel waits for another.
  void SetKernelLimit(uint64_t limit_ns);
  // It may be closed at times.
  bool limited() const { return cap_.limits_time() || below_normal(); }

  // The client has work after idling.
  void WorkCame(uint64_t now_ns) { cap_.WorkCame(now_ns); }
  // Its work has had the GPU for so long. True if its budget is used up by that.
  bool Spend(uint64_t ran_ns, uint64_t now_ns);
  // So many of its records are done that compute. Copies, which are never held back, say nothing of what waits.
  void NoteDone(uint64_t computed);
  // Opens it, if its time has come.
  void Look(uint64_t now_ns);

  // Records that a stream of the driver's may have. 0: it is closed.
  uint32_t most_ahead() const;
  // Nothing ends: one more is due, although it is closed.
  bool stalled() const { return stalled_ns_ > stall_ns_; }
  // Of time on the GPU in which nothing ends, until it stalls. It does not yet.
  uint64_t until_stall_ns() const { return stall_ns_ - stalled_ns_ + 1; }
  void NoteGivenWhileClosed() { stalled_ns_ = 0; }
  // The executor is lost, and with it all that it had.
  void NoteLoss() { stalled_ns_ = without_end_ns_ = 0; }
  // When to look again, or kNever.
  uint64_t opens_at_ns() const;

 private:
  Cap cap_;
  std::atomic<bool> below_{false}, yields_{false};
  uint64_t without_end_ns_ = 0;  // of the client's time on the GPU, since one that computes ended
  uint64_t stalled_ns_ = 0;  // the same, or since one was given although it was closed
  uint64_t stall_ns_ = kStallNs;
  double record_ns_ = 0;  // that a record takes that computes, of late; 0: not known
};

}  // namespace tutti::device::gpu
