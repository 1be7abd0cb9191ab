// The memory a kernel may access, by address. Global memory is memory of this process at its own addresses, range by
// range; shared, local and parameter memory are windows of the generic address space, at addresses that no process
// maps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::interpreter {

inline constexpr uint64_t kSharedWindow = uint64_t{1} << 40;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 40;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 40;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;

// Shared memory of a cluster of several blocks: each block has a window of its own in the generic address space, from
// kSharedWindow on. In it, and in 32-bit addresses, lie first the block's own memory, then, a slot each, that of the
// cluster's blocks by rank.
inline constexpr uint32_t kSlotShift = 24;

inline bool InWindow(uint64_t window, uint64_t address) { return address - window < kWindowBytes; }

class GlobalMemory {
 public:
  // Makes `bytes` accessible in place, at their address in this process.
  void Map(std::span<uint8_t> bytes) { ranges_.push_back(bytes); }

  // The `bytes` bytes at `address`; null unless all of them are in one range.
  uint8_t* Find(uint64_t address, uint64_t bytes) const {
    for (const std::span<uint8_t> range : ranges_) {
      const uint64_t offset = address - reinterpret_cast<uint64_t>(range.data());
      if (offset < range.size() && bytes <= range.size() - offset) return range.data() + offset;
    }
    return nullptr;
  }

 private:
  std::vector<std::span<uint8_t>> ranges_;
};

}  // namespace tutti::interpreter
