// Shares that wait at one level of a policy, the one that is furthest behind in front. Every step costs the logarithm
// of their number, since it is done with the device's lock held, and there may be thousands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/schedule/space_share.h"

namespace tutti::device::cpu {

class WaitingShares {
 public:
  bool empty() const { return heap_.empty(); }
  void Add(SpaceShare* share);
  void Remove(SpaceShare* share);
  // Its virtual_ns has changed.
  void Moved(SpaceShare* share);

  // Of those for which `may` holds, the one that is furthest behind, or null. At once if it holds for the first of all;
  // else all are looked at: where clients are bound to SMs, or other servers have their part.
  template <typename May>
  SpaceShare* First(const May& may) const {
    if (heap_.empty()) return nullptr;
    if (may(*heap_.front().share)) return heap_.front().share;
    const Entry* first = nullptr;
    for (const Entry& entry : heap_) {
      if ((first == nullptr || entry < *first) && may(*entry.share)) first = &entry;
    }
    return first != nullptr ? first->share : nullptr;
  }

 private:
  struct Entry {
    uint64_t virtual_ns;  // of the share
    SpaceShare* share;
    bool operator<(const Entry& other) const {
      return virtual_ns != other.virtual_ns ? virtual_ns < other.virtual_ns : share < other.share;
    }
  };

  void Put(size_t at, Entry entry) {
    heap_[at] = entry;
    entry.share->offered_index = static_cast<uint32_t>(at);
  }
  void Settle(size_t at, Entry entry);

  // A heap in which each share knows its place (offered_index), and has four children: half as many levels as with two,
  // and the children lie side by side.
  std::vector<Entry> heap_;
};

}  // namespace tutti::device::cpu
