// SMs of a device, by index.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace tutti::device {

inline constexpr uint32_t kMaxSms = 512;
using SmSet = std::bitset<kMaxSms>;

// The part of what is wanted of the SMs `other` that falls to `region`: those of `other` are as good as each other.
inline double Overlap(const SmSet& other, const SmSet& region) {
  const size_t common = (other & region).count();
  return common == 0 ? 0 : static_cast<double>(common) / static_cast<double>(other.count());
}

}  // namespace tutti::device
