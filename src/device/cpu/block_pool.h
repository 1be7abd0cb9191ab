// BlockRuns that nobody uses, with their stacks and buffers kept warm. Thread-safe.
#pragma once

#include <mutex>

#include "device/cpu/block_run.h"

namespace tutti::device::cpu {

class BlockPool {
 public:
  ~BlockPool() {
    while (BlockRun* run = Pop()) delete run;
  }
  BlockRun* Get() {
    BlockRun* const run = Pop();
    return run != nullptr ? run : new BlockRun;
  }
  void Put(BlockRun* run) {
    std::lock_guard lock(mutex_);
    if (count_ < kKept) {
      run->next = free_;
      free_ = run;
      ++count_;
      return;
    }
    delete run;
  }

 private:
  static constexpr uint32_t kKept = 256;

  BlockRun* Pop() {
    std::lock_guard lock(mutex_);
    BlockRun* const run = free_;
    if (run == nullptr) return nullptr;
    free_ = run->next;
    run->next = nullptr;
    --count_;
    return run;
  }

  std::mutex mutex_;
  BlockRun* free_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace tutti::device::cpu
