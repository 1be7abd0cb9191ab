#include "device/cpu/schedule/waiting_shares.h"

namespace tutti::device::cpu {
namespace {

constexpr size_t kChildren = 4;

}  // namespace

void WaitingShares::Add(SpaceShare* share) {
  heap_.push_back({});
  Settle(heap_.size() - 1, {share->virtual_ns, share});
}

void WaitingShares::Remove(SpaceShare* share) {
  const size_t at = share->offered_index;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (at < heap_.size()) Settle(at, last);
}

void WaitingShares::Moved(SpaceShare* share) { Settle(share->offered_index, {share->virtual_ns, share}); }

// Puts the entry where it belongs, from a place on whose entry does not count.
void WaitingShares::Settle(size_t at, Entry entry) {
  while (at != 0) {
    const size_t parent = (at - 1) / kChildren;
    if (!(entry < heap_[parent])) break;
    Put(at, heap_[parent]);
    at = parent;
  }
  for (;;) {
    const size_t first = at * kChildren + 1, end = std::min(first + kChildren, heap_.size());
    if (first >= end) break;
    size_t least = first;
    for (size_t child = first + 1; child < end; ++child) {
      if (heap_[child] < heap_[least]) least = child;
    }
    if (!(heap_[least] < entry)) break;
    Put(at, heap_[least]);
    at = least;
  }
  Put(at, entry);
}

}  // namespace tutti::device::cpu
