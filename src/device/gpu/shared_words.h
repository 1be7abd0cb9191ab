// Words of a client's host part that others count in, too: what an event of several processes consists of
// (client/copy/shared_event.h).
//
// No device sees them where they are mapped: the server adds and writes, in the order of streams, whatever executors
// their clients have. When its Space has freed them, or has ended, each is the largest signed number, and nobody waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/device.h"

namespace tutti::device::gpu {

// Thread-safe.
class SharedWords final : public SharedMemory {
 public:
  // `memory`: of its Space, until End.
  SharedWords(uint8_t* memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}

  uint64_t bytes() const override { return bytes_; }
  uint32_t device() const override { return 0; }
  bool withdrawn() const override { return withdrawn_.load(std::memory_order_acquire); }
  void Withdraw() { withdrawn_.store(true, std::memory_order_release); }
  void End();

  // An aligned word of 4 or 8 bytes, before `add` is added to it in one step.
  uint64_t Add(uint64_t offset, uint32_t word_bytes, uint64_t add);
  // Never less than it was.
  void Store(uint64_t offset, uint64_t value);

 private:
  std::mutex mutex_;
  uint8_t* memory_;  // null: they are no more
  const uint64_t bytes_;
  std::atomic<bool> withdrawn_{false};
};

}  // namespace tutti::device::gpu
