// A cache of idle BlockRuns, with warm stacks and buffers. Bounded in runs, bytes of address space and mappings of the
// process, and emptied when a client ends. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "guest/exec/block_run.h"

namespace tutti::device::cpu {

class BlockPool {
 public:
  static constexpr uint32_t kMostRuns = 256;
  static constexpr uint64_t kMostBytes = 512ull << 20;
  static constexpr uint64_t kMostMappings = 8192;  // of the 65,530 that a process usually may have
  // of the run that an SM keeps: the stack of one warp and the smallest buffers
  static constexpr uint64_t kLittleBytes = 256 << 10;

  ~BlockPool() { Empty(); }

  guest::BlockRun* Get() {
    std::lock_guard lock(mutex_);
    guest::BlockRun* const run = Pop();
    return run != nullptr ? run : new guest::BlockRun;
  }

  void Put(guest::BlockRun* run) {
    {
      std::lock_guard lock(mutex_);
      if (runs_ < kMostRuns && bytes_ + run->held_bytes() <= kMostBytes &&
          mappings_ + run->held_mappings() <= kMostMappings) {
        run->next = free_;
        free_ = run;
        ++runs_;
        bytes_ += run->held_bytes();
        mappings_ += run->held_mappings();
        return;
      }
    }
    delete run;
  }

  // A client has ended. The cached runs may have been for it alone, so all are freed: other clients soon have again
  // what they need. With the last client the run that each SM keeps for its next block goes as well, unless it is
  // small: SMs would have to be woken for it, and the next client would need it again. True if there are SMs to wake.
  bool ClientEnded(bool last) {
    Empty();
    if (!last || !much_is_held_.exchange(false, std::memory_order_relaxed)) return false;
    generation_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // An SM keeps a run of more than kLittleBytes. To be called before the client whose block has grown it can end.
  void NoteMuchHeld() { much_is_held_.store(true, std::memory_order_relaxed); }
  // Changes when SMs should free the memory of the run that they keep.
  uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }

 private:
  void Empty() {
    for (;;) {
      guest::BlockRun* run = nullptr;
      {
        std::lock_guard lock(mutex_);
        run = Pop();
      }
      if (run == nullptr) return;
      delete run;
    }
  }

  guest::BlockRun* Pop() {
    guest::BlockRun* const run = free_;
    if (run == nullptr) return nullptr;
    free_ = run->next;
    run->next = nullptr;
    --runs_;
    bytes_ -= run->held_bytes();
    mappings_ -= run->held_mappings();
    return run;
  }

  std::mutex mutex_;
  guest::BlockRun* free_ = nullptr;
  uint32_t runs_ = 0;
  uint64_t bytes_ = 0;
  uint64_t mappings_ = 0;
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> much_is_held_{false};
};

}  // namespace tutti::device::cpu
