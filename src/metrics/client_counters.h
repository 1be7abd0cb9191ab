// The counters of one client, or of anything counted like one: a page of atomics. The server's threads write them;
// `ps`, `tutti top`, exporters and tests read them.
//
// Thread-safe. Relaxed throughout: counters order nothing, and readers tolerate values of slightly different times.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::metrics {

enum class Counter : uint32_t {
#define TUTTI_COUNTER(name, kind, unit, help) name,
#include "metrics/counters.def"
#undef TUTTI_COUNTER
};

enum class CounterKind : uint32_t { kCounter, kGauge };

struct CounterInfo {
  const char* name;
  CounterKind kind;
  const char* unit;  // "ns", "bytes" or ""
  const char* help;
};

inline constexpr CounterInfo kCounters[] = {
#define TUTTI_COUNTER(name, kind, unit, help) {#name, CounterKind::kind, unit, help},
#include "metrics/counters.def"
#undef TUTTI_COUNTER
};
inline constexpr size_t kCounterCount = std::size(kCounters);

class alignas(64) ClientCounters {
 public:
  void Add(Counter counter, uint64_t amount = 1) { at(counter).fetch_add(amount, std::memory_order_relaxed); }
  // For a counter with a single writer at a time, ensured by a lock.
  void AddAlone(Counter counter, uint64_t amount = 1) {
    at(counter).store(Get(counter) + amount, std::memory_order_relaxed);
  }
  void Set(Counter counter, uint64_t value) { at(counter).store(value, std::memory_order_relaxed); }
  void Raise(Counter counter, uint64_t value) {
    uint64_t seen = at(counter).load(std::memory_order_relaxed);
    while (seen < value && !at(counter).compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  uint64_t Get(Counter counter) const { return values_[static_cast<size_t>(counter)].load(std::memory_order_relaxed); }
  // All of them, in the order of counters.def.
  std::vector<uint64_t> Values() const {
    std::vector<uint64_t> values;
    for (const auto& value : values_) values.push_back(value.load(std::memory_order_relaxed));
    return values;
  }

 private:
  std::atomic<uint64_t>& at(Counter counter) { return values_[static_cast<size_t>(counter)]; }

  std::array<std::atomic<uint64_t>, kCounterCount> values_{};
};
static_assert(sizeof(ClientCounters) <= 4096);

}  // namespace tutti::metrics
