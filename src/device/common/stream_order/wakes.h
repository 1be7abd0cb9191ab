// Sleepers to be woken when no lock is held: a woken thread may get the core of the waker at once, and if that held the
// Space's lock, all who need it would wait for the kernel's scheduler (a lock convoy).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "device/device.h"

namespace tutti::device {

// Collected under the Space's lock, run by the thread that has collected them. A record seldom unblocks many others:
// who is beyond the capacity is woken at once, which is correct and merely slower.
class Wakes {
 public:
  Wakes() = default;
  // Takes over what `other` has collected, and empties it. There is seldom more than one: no need to copy the room for
  // more.
  Wakes(Wakes&& other) noexcept : count_(std::exchange(other.count_, 0)) {
    std::copy_n(other.streams_.begin(), count_, streams_.begin());
  }

  void Add(uint32_t stream, Sink* sink) {
    if (count_ == streams_.size()) return sink->Wake(stream);
    streams_[count_++] = stream;
  }
  bool empty() const { return count_ == 0; }
  // Call with no lock held.
  void Run(Sink* sink) const {
    for (uint32_t i = 0; i < count_; ++i) sink->Wake(streams_[i]);
  }

 private:
  std::array<uint32_t, 8> streams_;
  uint32_t count_ = 0;
};

}  // namespace tutti::device
