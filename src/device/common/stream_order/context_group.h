// The order of the legacy default stream. Within one context on one device, a record of the legacy stream waits for all
// earlier records of the blocking streams, and they for it.
//
// Records of a group are cut into batches in order of submission, alternately of blocking streams and of the legacy
// stream. Only the first batch may run; when it is empty the next one begins. So each record costs one counter, however
// many streams there are. Guarded by the Space's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "device/common/stream_order/stream.h"

namespace tutti::device {

struct Batch {
  bool legacy = false;
  uint64_t left = 0;  // records not done
  std::vector<Stream*> held;  // streams whose first record belongs to this batch while it is not the first
};

struct ContextGroup {
  std::deque<Batch> batches;
  uint32_t streams = 0;

  Batch* Join(bool legacy) {
    if (!batches.empty() && batches.back().left == 0) batches.back().legacy = legacy;  // the only one, and empty
    if (batches.empty() || batches.back().legacy != legacy) batches.push_back(Batch{.legacy = legacy});
    ++batches.back().left;
    return &batches.back();
  }
  bool IsFirst(const Batch* batch) const { return batch == &batches.front(); }
  // A record of the first batch is done. True if the next batch begins: start batches.front().held.
  bool Leave(Batch* batch) {
    if (--batch->left != 0) return false;
    // The last batch stays open, so a group without legacy work keeps one for ever.
    if (batches.size() == 1) return false;
    batches.pop_front();
    return true;
  }
};

}  // namespace tutti::device
