// Words that say how far recordings of an event of several processes have come (client/copy/shared_event.h).
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::device {

// Unless it has come as far: who waits for what it says would wait for ever if it said less again. Numbers go round, as
// for those who wait. Bounded: the word is a client's, too, and it may change it at any moment.
inline void RaiseCounter(uint64_t* counter, uint64_t value) {
  constexpr int kMostAttempts = 1000;
  std::atomic_ref word(*counter);
  uint64_t before = word.load(std::memory_order_acquire);
  for (int i = 0; i < kMostAttempts && static_cast<int64_t>(value - before) > 0; ++i)
    if (word.compare_exchange_weak(before, value, std::memory_order_acq_rel)) return;
}

}  // namespace tutti::device
