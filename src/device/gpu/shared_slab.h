// Memory of a client that others may map: a slab with one allocation, by the descriptor that the driver has exported.
//
// Whoever has the descriptor open, or the memory mapped, keeps it. It counts as its Space's until the Space has freed
// it and nobody holds it any more; where the Space has ended by then, against the device and the Space's groups.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "device/device.h"
#include "device/memory_account.h"
#include "os/close_aside.h"

namespace tutti::device::gpu {

// What the backend has open for such memory, and for what outlives an executor: for each of these a part of the files
// that this process may have, and of one Space no more than half of that. Thread-safe.
class DescriptorPlace {
 public:
  enum class Use : uint8_t { kShared, kHeld };
  using OfSpace = std::shared_ptr<std::atomic<uint32_t>>;  // for one use

  DescriptorPlace() = default;
  // Holds nothing where there is no room.
  DescriptorPlace(Use use, OfSpace of_space);
  DescriptorPlace(DescriptorPlace&& other) noexcept = default;
  DescriptorPlace& operator=(DescriptorPlace&& other) noexcept {
    std::swap(use_, other.use_);
    std::swap(of_space_, other.of_space_);
    return *this;
  }
  ~DescriptorPlace();
  explicit operator bool() const { return of_space_ != nullptr; }

  // Of so many files, for all uses.
  static uint64_t MostOfAll(uint64_t files);

 private:
  Use use_ = Use::kShared;
  OfSpace of_space_;
};

class SharedSlab final : public SharedMemory {
 public:
  // What slabs know of the Space they are from. Outlives it.
  struct Home {
    std::mutex mutex;  // taken before any lock of a Space's memory
    // Called, without waiting for anything, when nobody holds memory that its Space has released; null once it has
    // ended.
    std::function<void(uint64_t bytes)> gone;
    DescriptorPlace::OfSpace descriptors = std::make_shared<std::atomic<uint32_t>>(0);
  };

  // `counted`: of the slab's bytes, what counts.
  SharedSlab(std::shared_ptr<Home> home, os::StrangersFd descriptor, DescriptorPlace place, uint64_t bytes,
             uint64_t counted, MemoryAccount* account, MemoryGroups groups)
      : home_(std::move(home)),
        descriptor_(std::move(descriptor)),
        place_(std::move(place)),
        bytes_(bytes),
        counted_(counted),
        account_(account),
        groups_(std::move(groups)) {}
  ~SharedSlab() override;

  uint64_t bytes() const override { return bytes_; }
  uint32_t device() const override { return 0; }
  bool withdrawn() const override { return withdrawn_.load(std::memory_order_acquire); }
  void Withdraw() { withdrawn_.store(true, std::memory_order_release); }
  // What it counts is from now on its holders' to give back.
  void LeaveToHolders() { left_.store(true, std::memory_order_release); }

  int descriptor() const { return descriptor_.get(); }

 private:
  const std::shared_ptr<Home> home_;
  const os::StrangersFd descriptor_;
  const DescriptorPlace place_;
  const uint64_t bytes_;
  const uint64_t counted_;
  MemoryAccount* const account_;
  const MemoryGroups groups_;
  std::atomic<bool> withdrawn_{false};
  std::atomic<bool> left_{false};
};

}  // namespace tutti::device::gpu
