// What of a stream's work waits in the server, and holding a caller back that has submitted too much of it
// (wire/backlog.h). A stream looks once per kLookEvery records, so the others cost nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

namespace tutti::client {

// Thread-safe.
class Backlog {
 public:
  static constexpr uint32_t kLookEvery = 32;  // weight

  // Records of this weight, up to `ticket`, have been submitted to the stream of this slot. Returns when enough of all
  // that is done: the caller may submit more.
  void Add(uint32_t slot, uint64_t ticket, uint32_t weight);
  // For who must not be held up in the midst of records of this weight: what has to be done before, as ticket + 1; 0:
  // nothing. More than half of what the stream may hold never has room at once, and is counted as half.
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
