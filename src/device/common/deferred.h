// Deferred frees (epoch-based reclamation): freed memory and unloaded modules, released when the work submitted before
// is done.
//
// Every record belongs to the epoch (Generation) that was open when it came. Deferring something closes the epoch; it
// is released when that epoch and all before it have no record left. Guarded by the Space's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tutti::device {

struct Deferred {
  uint64_t address = 0;              // memory to release, or 0
  std::shared_ptr<const void> kept;  // something to release
};

struct Generation {
  uint64_t left = 0;  // records not done
  std::vector<Deferred> items;
};

class DeferredRelease {
 public:
  Generation* Join() {
    if (generations_.empty() || !generations_.back().items.empty()) generations_.emplace_back();
    ++generations_.back().left;
    return &generations_.back();
  }
  void Leave(Generation* generation, std::vector<Deferred>* released) {
    --generation->left;
    Collect(released);
  }
  void Defer(Deferred item, std::vector<Deferred>* released) {
    if (generations_.empty()) generations_.emplace_back();
    generations_.back().items.push_back(std::move(item));
    Collect(released);
  }

 private:
  void Collect(std::vector<Deferred>* released) {
    while (!generations_.empty() && generations_.front().left == 0) {
      for (Deferred& item : generations_.front().items) released->push_back(std::move(item));
      if (generations_.size() == 1) {
        generations_.front().items.clear();
        return;  // kept, so that the steady state does not allocate
      }
      generations_.pop_front();
    }
  }

  std::deque<Generation> generations_;
};

}  // namespace tutti::device
