// Records what ran where: a ring of chunks per worker, written by it, read by whoever takes the trace. Thread-safe.
// Costs one relaxed load per chunk while it is off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"

namespace tutti::device {

class TraceRing {
 public:
  struct Entry {
    std::shared_ptr<const std::string> label;
    std::shared_ptr<const std::string> kernel;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    uint32_t blocks = 0;
  };

  void Enable(bool on);
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  void Add(Entry entry);
  // Appends the recorded chunks to `out` and clears them.
  void Take(uint32_t device, uint32_t sm, std::vector<Backend::TraceEvent>* out);

 private:
  static constexpr size_t kEntries = 1 << 17;  // then the oldest are overwritten

  std::atomic<bool> enabled_{false};
  std::mutex mutex_;
  std::vector<Entry> entries_;
  uint64_t added_ = 0;
};

}  // namespace tutti::device
