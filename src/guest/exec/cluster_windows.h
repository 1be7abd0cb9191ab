// The shared windows of a cluster's blocks, at the addresses that guest/cpu/kernel_abi.h describes: one memory file
// with a window in each slot, and a view of it for each block. Reused by the next cluster. Not thread-safe.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::guest {

class ClusterWindows {
 public:
  ClusterWindows() = default;
  ClusterWindows(const ClusterWindows&) = delete;
  ClusterWindows& operator=(const ClusterWindows&) = delete;
  ~ClusterWindows() { Release(); }

  // Provides views for at least `blocks` blocks, with windows of `window_bytes`. Windows keep their content, or are of
  // zeros.
  Status Require(uint32_t blocks, uint64_t window_bytes);
  // Zeroes all windows.
  void Clean();
  // Frees them.
  void Release();

  // The view of the block of this rank.
  uint8_t* view(uint32_t rank) const { return base_ + (uint64_t{rank} << kViewShift); }
  // Memory that the windows may have taken.
  uint64_t bytes() const { return blocks_ * most_bytes_; }
  // Two of each view, and gaps between them.
  uint64_t mappings() const { return 3 * uint64_t{blocks_}; }

 private:
  Status Map(uint32_t blocks);

  uint8_t* base_ = nullptr;
  uint32_t blocks_ = 0;
  uint64_t most_bytes_ = 0;  // of a window, since they were last zeros
};

}  // namespace tutti::guest
