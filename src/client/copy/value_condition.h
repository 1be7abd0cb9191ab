// The value that a stream waits for in a word of memory, and how often the client polls for it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::client {

struct ValueCondition {
  uint64_t address = 0;
  uint64_t value = 0;
  uint32_t bytes = 4;  // 4 or 8
  uint32_t comparison = 0;  // CU_STREAM_WAIT_VALUE_GEQ, _EQ, _AND or _NOR

  // Whether `current` ends the wait.
  bool HoldsFor(uint64_t current) const;
  // Reads the word, which lies in the window and is aligned, or asks the server for it. An acquire: what was written
  // before the value is visible afterwards.
  bool Holds() const;
};

// Exponential backoff of the polling: each interval is an eighth of the time that nothing has happened, within bounds.
// So the client sees a value at most an eighth, and at most 10 ms, late; one that never comes costs 100 polls a second.
class PollPace {
 public:
  void Restart(uint64_t now_ns) { since_ns_ = now_ns; }
  uint64_t SleepNs(uint64_t now_ns) const { return std::clamp((now_ns - since_ns_) / 8, kShortestNs, kLongestNs); }

  static constexpr uint64_t kShortestNs = 20'000;
  static constexpr uint64_t kLongestNs = 10'000'000;

 private:
  uint64_t since_ns_ = 0;
};

}  // namespace tutti::client
