// Which entry of a batch's attributes or locations an operation has: entry k is that of the operations from starts[k]
// up to the next start.
#pragma once

#include <cstddef>

namespace tutti::client::entry {

class BatchRuns {
 public:
  // `starts`: the program's, of `runs` entries, for `count` operations; it outlives this object.
  BatchRuns(const size_t* starts, size_t runs, size_t count) : starts_(starts), runs_(runs), count_(count) {}

  // Every operation has an entry: the starts begin at 0, grow, and end below `count`.
  bool valid() const {
    if (starts_ == nullptr || runs_ == 0 || runs_ > count_ || starts_[0] != 0) return false;
    for (size_t k = 1; k < runs_; ++k) {
      if (starts_[k] <= starts_[k - 1] || starts_[k] >= count_) return false;
    }
    return true;
  }
  // The entry of operation `i`, if `before` is that of the operation before it (0 for the first).
  size_t RunOf(size_t i, size_t before) const {
    return before + 1 < runs_ && starts_[before + 1] == i ? before + 1 : before;
  }

 private:
  const size_t* const starts_;
  const size_t runs_;
  const size_t count_;
};

}  // namespace tutti::client::entry
