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
  static constexpr uint64_t kMostBlocks = ~0u;
  using Blocks = std::pair<uint64_t, uint64_t>;  // [first, second)

  // Blocks [0, total), at most kMostBlocks, for places [0, count). Nothing of what was there is left.
  void Divide(uint64_t total, uint32_t count) {
    const uint32_t length = static_cast<uint32_t>(total) / count, longer = static_cast<uint32_t>(total) % count;
    for (uint32_t i = 0, begin = 0; i < count; ++i) {
      next_[i] = begin;
      left_of_[i] = length + (i < longer ? 1 : 0);
      begin += left_of_[i];
    }
    count_ = count;
    left_ = total;
  }
  void Clear() { left_ = 0; }

  uint64_t left() const { return left_; }
  // How many there are in one piece for an SM at `place`: of its own part as long as there is something; 0: none.
  uint64_t Offer(uint32_t place) {
    helps_ = left_of_[place] == 0;
    offered_ = helps_ ? Fullest() : place;
    return left_of_[offered_];
  }
  // `count` of what was offered last; the first.
  uint64_t Take(uint64_t count) {
    const auto blocks = static_cast<uint32_t>(count);
    left_ -= count;
    left_of_[offered_] -= blocks;
    return helps_ ? uint64_t{next_[offered_]} + left_of_[offered_]
                  : std::exchange(next_[offered_], next_[offered_] + blocks);
  }
  // Calls `look` for what is left of each part.
  template <typename Function>
  void ForEach(const Function& look) const {
    for (uint32_t i = 0; left_ != 0 && i < count_; ++i) {
      if (left_of_[i] != 0) look(Blocks(next_[i], uint64_t{next_[i]} + left_of_[i]));
    }
  }

 private:
  uint32_t Fullest() const {
    uint32_t fullest = 0;
    for (uint32_t i = 1; i < count_; ++i) fullest = left_of_[i] > left_of_[fullest] ? i : fullest;
    return fullest;
  }

  uint64_t left_ = 0;
  uint32_t count_ = 0;
  uint32_t offered_ = 0;
  bool helps_ = false;  // at its end: it is another SM's
  std::array<uint32_t, kMost> next_{}, left_of_{};
};

}  // namespace tutti::device::cpu
