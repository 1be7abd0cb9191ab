// The blocks of a grid that have not begun, where each SM begins at a place of its own: the grid is cut into even
// parts, one for each place, which are taken from the front. An SM whose part is used up takes from the end of the
// fullest one, so none is idle while there are blocks. In the next launch of as many blocks an SM mostly has those that
// it had before, and finds what they work on in its core's caches.
//
// Guarded by the device's scheduler lock.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace tutti::device::cpu {

class BlockPlaces {
 public:
  static constexpr uint32_t kMost = 16;  // more SMs share them: what is looked at stays little
  using Blocks = std::pair<uint64_t, uint64_t>;  // [first, second)

  // Blocks [0, total) for places [0, count). Nothing of what was there is left.
  void Divide(uint64_t total, uint32_t count) {
    const uint64_t part = total / count, longer = total % count;
    for (uint64_t i = 0, begin = 0; i < count; ++i) {
      const uint64_t end = begin + part + (i < longer ? 1 : 0);
      parts_[i] = {begin, end};
      begin = end;
    }
    count_ = count;
    left_ = total;
  }
  void Clear() { left_ = 0; }

  uint64_t left() const { return left_; }
  // What is in one piece for an SM at `place`, and in its own part as long as there is something; 0: nothing is left.
  uint64_t LeftFor(uint32_t place) const {
    const Blocks own = parts_[place];
    return own.first < own.second ? own.second - own.first : Length(parts_[Fullest()]);
  }
  // `count` of LeftFor; the first.
  uint64_t Take(uint32_t place, uint64_t count) {
    left_ -= count;
    Blocks& own = parts_[place];
    if (own.first < own.second) return std::exchange(own.first, own.first + count);
    return parts_[Fullest()].second -= count;
  }
  // Calls `take` for each range of blocks that is left, and so nothing is.
  template <typename Function>
  void TakeAll(const Function& take) {
    for (uint32_t i = 0; left_ != 0; ++i) {
      if (Length(parts_[i]) == 0) continue;
      left_ -= Length(parts_[i]);
      take(parts_[i]);
    }
  }
  template <typename Function>
  void ForEach(const Function& look) const {
    for (uint32_t i = 0; left_ != 0 && i < count_; ++i) look(parts_[i]);
  }

 private:
  static uint64_t Length(const Blocks& blocks) { return blocks.second - blocks.first; }
  uint32_t Fullest() const {
    uint32_t fullest = 0;
    for (uint32_t i = 1; i < count_; ++i) {
      if (Length(parts_[i]) > Length(parts_[fullest])) fullest = i;
    }
    return fullest;
  }

  std::array<Blocks, kMost> parts_;
  uint32_t count_ = 0;
  uint64_t left_ = 0;
};

}  // namespace tutti::device::cpu
