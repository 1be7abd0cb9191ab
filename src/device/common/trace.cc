#include "device/common/trace.h"

#include <algorithm>

namespace tutti::device {

void TraceRing::Enable(bool on) { enabled_.store(on, std::memory_order_relaxed); }

void TraceRing::Add(Entry entry) {
  std::lock_guard lock(mutex_);
  // Chunks of one kernel in close succession are one bar in a timeline, and one entry here.
  constexpr uint64_t kGapNs = 5'000;
  constexpr uint64_t kBarNs = 1'000'000;
  if (added_ != 0 && !entries_.empty()) {
    Entry& last = entries_[(added_ - 1) % kEntries];
    if (last.kernel == entry.kernel && last.label == entry.label && entry.begin_ns - last.end_ns < kGapNs &&
        entry.end_ns - last.begin_ns < kBarNs) {
      last.end_ns = entry.end_ns;
      last.blocks += entry.blocks;
      return;
    }
  }
  if (entries_.size() < kEntries) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[added_ % kEntries] = std::move(entry);
  }
  ++added_;
}

void TraceRing::Take(uint32_t device, uint32_t sm, std::vector<Backend::TraceEvent>* out) {
  std::vector<Entry> entries;
  uint64_t added;
  {
    std::lock_guard lock(mutex_);
    entries = std::exchange(entries_, {});
    added = std::exchange(added_, 0);
  }
  const size_t oldest = added > kEntries ? added % kEntries : 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[(oldest + i) % entries.size()];
    out->push_back({.label = *entry.label,
                    .kernel = *entry.kernel,
                    .device = device,
                    .sm = sm,
                    .begin_ns = entry.begin_ns,
                    .end_ns = entry.end_ns,
                    .blocks = entry.blocks});
  }
}

}  // namespace tutti::device
