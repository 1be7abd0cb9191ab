// The blocks that an SM has been given and has not begun. It takes them from the front, a piece at a time and without
// the scheduler's lock; SMs that have nothing else take from the back, with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace tutti::device::cpu {

class Batch {
 public:
  static constexpr uint64_t kMostBlocks = 1u << 31;
  using Blocks = std::pair<uint64_t, uint64_t>;  // [first, second)

  // By the SM itself, with the lock: nothing is left of the last batch. At most kMostBlocks.
  void Fill(uint64_t first, uint64_t count, uint64_t piece) {
    first_ = first;
    piece_ = static_cast<uint32_t>(std::min(piece, count));
    is_large_ = count > piece;
    Store(0, static_cast<uint32_t>(count));
  }

  // By the SM itself: the next piece; empty: nothing is left.
  Blocks TakePiece() { return TakeFront(piece_); }
  // By the SM itself: all that is left, and so nothing is.
  Blocks TakeRest() { return TakeFront(~0u); }

  // With the lock, by any SM: the later half of what is left, rounded up; empty: nothing is left.
  Blocks Steal() {
    uint64_t word = left_.load(std::memory_order_relaxed);
    for (;;) {
      const auto [begin, end] = Split(word);
      const uint32_t middle = begin + (end - begin) / 2;
      if (left_.compare_exchange_weak(word, Join(begin, middle), std::memory_order_relaxed))
        return {first_ + middle, first_ + end};
    }
  }

  // Whether it was given more than a piece. With the lock.
  bool is_large() const { return is_large_; }
  // A hint, for anybody.
  uint32_t left() const {
    const auto [begin, end] = Split(left_.load(std::memory_order_relaxed));
    return end - begin;
  }

 private:
  struct Range {
    uint32_t begin, end;
  };
  static Range Split(uint64_t word) { return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)}; }
  static uint64_t Join(uint32_t begin, uint32_t end) { return uint64_t{begin} << 32 | end; }
  void Store(uint32_t begin, uint32_t end) { left_.store(Join(begin, end), std::memory_order_relaxed); }

  Blocks TakeFront(uint32_t most) {
    uint64_t word = left_.load(std::memory_order_relaxed);
    for (;;) {
      const auto [begin, end] = Split(word);
      const uint32_t until = begin + std::min(most, end - begin);
      if (until == begin) return {first_ + begin, first_ + begin};
      if (left_.compare_exchange_weak(word, Join(until, end), std::memory_order_relaxed))
        return {first_ + begin, first_ + until};
    }
  }

  // Relaxed: the word says only whose a block is. What blocks read is made visible by the lock, with which they were
  // given out.
  std::atomic<uint64_t> left_{0};  // [begin, end) beyond first_, in one word
  uint64_t first_ = 0;  // this and piece_: written with the lock, and read by the SM itself or with it
  uint32_t piece_ = 0;
  bool is_large_ = false;
};

}  // namespace tutti::device::cpu
