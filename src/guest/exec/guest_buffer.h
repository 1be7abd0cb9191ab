// A block's memory (its shared window, its warps' local memory), reused by the next block, and cleared before a block
// of another client gets it. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "os/memory.h"

namespace tutti::guest {

class GuestBuffer {
 public:
  // Grows it to at least `bytes`. The content is kept, or zero.
  Status Require(uint64_t bytes) {
    if (bytes > mapping_.size()) {
      uint64_t larger = mapping_.size() < kLeastBytes ? kLeastBytes : mapping_.size();
      while (larger < bytes) larger *= 2;
      TUTTI_ASSIGN(mapping_, os::Mapping::Anonymous(larger));
    }
    if (bytes > used_) used_ = bytes;
    return {};
  }
  // Zeroes what has been used.
  void Clean() {
    if (used_ > kLargeBytes) {
      mapping_ = os::Mapping();
    } else if (used_ != 0) {
      std::memset(mapping_.data(), 0, used_);
    }
    used_ = 0;
  }
  // Frees it.
  void Release() {
    mapping_ = os::Mapping();
    used_ = 0;
  }
  uint8_t* data() const { return mapping_.data(); }
  uint64_t bytes() const { return mapping_.size(); }

 private:
  static constexpr uint64_t kLeastBytes = 64 << 10;
  static constexpr uint64_t kLargeBytes = 4 << 20;  // cheaper to map anew than to clear

  os::Mapping mapping_;
  uint64_t used_ = 0;
};

}  // namespace tutti::guest
