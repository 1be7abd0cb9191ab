// Backpressure for one stream: tracks its pending work in the server and blocks a caller that has submitted too much
// (wire/backlog.h). A stream checks once per kLookEvery of weight, so other submissions cost nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

namespace tutti::client {

// Thread-safe.
class Backlog {
 public:
  static constexpr uint32_t kLookEvery = 32;  // weight

  // Notes that records of this weight, up to `ticket`, have been submitted to the stream of this slot. With `blocks` it
  // blocks until enough pending work is done for the caller to submit more.
  void Add(uint32_t slot, uint64_t ticket, uint32_t weight, bool blocks = true);
  // For a caller that must not block in the middle of submitting records of this weight: the work that has to be done
  // first, as ticket + 1; 0: none. A weight above half of the stream's bound counts as half, since there may never be
  // room for more at once.
  uint64_t RoomAfter(uint32_t slot, uint32_t weight);

 private:
  struct Part {
    uint64_t ticket;  // of its last record
    uint32_t weight;
  };

  uint64_t Full(uint32_t slot, uint32_t weight);

  std::mutex mutex_;
  std::deque<Part> waiting_;  // the oldest first
  uint32_t weight_ = 0;  // of all of them
};

}  // namespace tutti::client
