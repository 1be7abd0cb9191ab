// Host memory that a server holds for a client: pinned and staging memory, constants, images of modules. Pages that a
// kernel or the server touches first are charged to the server, so without a bound one client could make the system
// kill the server of all.
//
// All clients of a server share one account, and each has a limit; beyond either a client gets OUT_OF_MEMORY.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "cuda/result.h"
#include "device/memory_account.h"

namespace tutti::device {

// One client's. Thread-safe.
class HostShare {
 public:
  // `all` outlives it.
  HostShare(MemoryAccount* all, uint64_t limit_bytes) : all_(all), limit_bytes_(limit_bytes) {}
  ~HostShare() { all_->Release(used_bytes_.load(std::memory_order_relaxed), {}); }
  HostShare(const HostShare&) = delete;

  // False: over the client's limit, or over what is left for all.
  bool Reserve(uint64_t bytes) {
    uint64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      if (used > limit_bytes_ || bytes > limit_bytes_ - used) return false;
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    if (all_->Reserve(bytes, {}) == MemoryAccount::Answer::kGranted) return true;
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void Release(uint64_t bytes) {
    all_->Release(bytes, {});
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // What a client is told of bytes that it does not get.
  std::unexpected<Error> Refuse(uint64_t bytes) const {
    return Fail(
        cuda::CUDA_ERROR_OUT_OF_MEMORY,
        fmt::format("{} bytes of host memory: the client holds {} of {}, or its server has no more for all of them",
                    bytes, used_bytes(), limit_bytes_));
  }

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

  std::atomic<uint32_t> files{0};  // of memory that it shares with others, as the device counts them

 private:
  MemoryAccount* const all_;
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> used_bytes_{0};
};

// A reservation that is released with its owner.
class HostHold {
 public:
  HostHold() = default;
  // Holds nothing if the reservation fails.
  HostHold(HostShare* share, uint64_t bytes) : share_(share->Reserve(bytes) ? share : nullptr), bytes_(bytes) {}
  HostHold(HostHold&& other) noexcept : share_(std::exchange(other.share_, nullptr)), bytes_(other.bytes_) {}
  HostHold& operator=(HostHold&& other) noexcept {
    std::swap(share_, other.share_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostHold() {
    if (share_ != nullptr) share_->Release(bytes_);
  }
  explicit operator bool() const { return share_ != nullptr; }

 private:
  HostShare* share_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace tutti::device
