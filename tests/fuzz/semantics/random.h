// Pseudo-random numbers from a seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace semantics {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Bits() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>((Bits() >> 32) * limit >> 32); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  template <typename List>
  const auto& From(const List& list) {
    return list[Below(static_cast<uint32_t>(std::size(list)))];
  }

 private:
  uint64_t state_;
};

}  // namespace semantics
