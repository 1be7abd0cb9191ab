// A concurrent set of small numbers. Scanning an empty one costs a single load.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace tutti::server {

// Thread-safe. `Atomic`: std::atomic, or its stand-in in the model checker (hot_set_interleavings_test.cc).
template <template <typename> typename Atomic>
class BasicHotSet {
 public:
  static constexpr uint32_t kCapacity = 64 * 64;

  void Insert(uint32_t number) {
    uint32_t used = words_used_.load(std::memory_order_seq_cst);
    while (used <= number / 64 &&
           !words_used_.compare_exchange_weak(used, number / 64 + 1, std::memory_order_seq_cst)) {
    }
    words_[number / 64].fetch_or(Bit(number % 64), std::memory_order_seq_cst);
    summary_.fetch_or(Bit(number / 64), std::memory_order_seq_cst);
  }

  void Erase(uint32_t number) {
    const uint32_t word = number / 64;
    if ((words_[word].fetch_and(~Bit(number % 64), std::memory_order_seq_cst) & ~Bit(number % 64)) != 0) return;
    summary_.fetch_and(~Bit(word), std::memory_order_seq_cst);
    // An Insert may have come between the two.
    if (words_[word].load(std::memory_order_seq_cst) != 0) summary_.fetch_or(Bit(word), std::memory_order_seq_cst);
  }

  // May briefly report empty while another number is erased: a hint, as is ForEach.
  bool empty() const { return summary_.load(std::memory_order_seq_cst) == 0; }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (uint64_t summary = summary_.load(std::memory_order_seq_cst); summary != 0; summary &= summary - 1) {
      ForEachOf(static_cast<uint32_t>(std::countr_zero(summary)), visit);
    }
  }
  // An exact scan: visits every number inserted after its last Erase. Costs a load per 64 numbers ever used.
  template <typename Visit>
  void ForEachForCertain(Visit visit) const {
    const uint32_t used = words_used_.load(std::memory_order_seq_cst);
    for (uint32_t word = 0; word < used; ++word) ForEachOf(word, visit);
  }

 private:
  template <typename Visit>
  void ForEachOf(uint32_t word, Visit& visit) const {
    for (uint64_t bits = words_[word].load(std::memory_order_seq_cst); bits != 0; bits &= bits - 1) {
      visit(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
  static constexpr uint64_t Bit(uint32_t number) { return 1ull << number; }

  Atomic<uint64_t> summary_{0};
  Atomic<uint32_t> words_used_{0};  // never shrinks
  std::array<Atomic<uint64_t>, 64> words_{};
};

using HotSet = BasicHotSet<std::atomic>;

}  // namespace tutti::server
