// Allocates the slots of the completion page. A slot is reused, with a new generation, only after the work of its
// previous stream is done, so a mark of an earlier generation counts as reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "client/context/resting.h"
#include "wire/limits.h"

namespace tutti::client {

// A position in a stream, after everything submitted to it before. Remains valid when the stream is gone.
struct StreamMark {
  uint32_t slot = 0;  // 0: no position, always reached
  uint32_t generation = 0;
  uint64_t next = 0;  // ticket + 1 of the last record before it; 0: none

  bool Reached() const;
  // 0, or what the session ended with.
  int Wait() const;
  uint64_t ticket() const { return next - 1; }
};

// Thread-safe.
class StreamSlots {
 public:
  struct Handle {
    uint32_t slot = 0;  // 0: none left
    uint32_t generation = 0;
  };

  static StreamSlots& Get();
  Handle Take();
  // `last`: the end of the work of the slot's stream.
  void GiveBack(const StreamMark& last);
  // For a new session: every mark of the old one counts as reached.
  void StartAgain();
  // The number of streams that have a slot.
  uint32_t open() const { return open_.load(std::memory_order_relaxed); }
  uint32_t GenerationOf(uint32_t slot) const { return generations_[slot].load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  Resting<StreamMark> resting_;
  uint32_t used_ = 1;  // slot 0 is never a stream
  std::atomic<uint32_t> open_{0};  // written under the lock
  std::atomic<uint32_t> generations_[wire::kMaxStreams] = {};
};

}  // namespace tutti::client
