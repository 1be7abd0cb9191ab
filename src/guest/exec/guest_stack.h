// Stacks for guest code: one mapping with a stack per warp, each above an inaccessible guard. Owned by one BlockRun,
// reused by the next block. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace tutti::guest {

class GuestStacks {
 public:
  // No frame steps over it: compiled code touches each 32 KiB of a larger one (compiler/link/host_target.cc).
  static constexpr size_t kGuardBytes = 64 << 10;

  GuestStacks() = default;
  GuestStacks(const GuestStacks&) = delete;
  GuestStacks& operator=(const GuestStacks&) = delete;
  ~GuestStacks();

  // Provides `count` stacks of at least `bytes` each. Their content is lost if that takes a new mapping.
  Status Require(uint32_t count, size_t bytes);

  // Frees them.
  void Release() { Unmap(); }

  uint8_t* low(uint32_t index) const { return base_ + index * stride() + kGuardBytes; }
  uint8_t* top(uint32_t index) const { return low(index) + stack_bytes_; }
  uint32_t count() const { return count_; }
  size_t bytes() const { return count_ * stride(); }
  size_t stack_bytes() const { return stack_bytes_; }
  bool IsGuard(uint64_t address) const;

 private:
  size_t stride() const { return kGuardBytes + stack_bytes_; }
  void Unmap();

  uint8_t* base_ = nullptr;
  uint32_t count_ = 0;
  size_t stack_bytes_ = 0;
};

}  // namespace tutti::guest
