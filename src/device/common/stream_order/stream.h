// One stream: its records in order, and what the next one waits for. Guarded by the Space's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "device/common/stream_order/conditional_walk.h"
#include "device/common/stream_order/operation.h"

namespace tutti::device {

struct ContextGroup;

struct Stream {
  enum class State : uint8_t {
    kReady,  // the next record, if any, may begin
    kRunning,  // the device runs its task
    kDraining,  // waits for what is issued to be done
    kInBatch,  // waits for its batch in the legacy order
    kWaiting,  // waits for another stream
    kHostCall,  // the client's function runs
  };

  // Another stream's wait for this one: satisfied when no record up to `ticket` is left to issue.
  struct Waiter {
    uint64_t ticket;
    uint32_t stream;
    uint64_t own_ticket;                                                         // of the waiting record
    bool operator<(const Waiter& other) const { return ticket > other.ticket; }  // heap: smallest first
  };

  uint32_t number = 0;
  uint32_t device = 0;
  uint32_t context = 0;
  uint32_t urgency = 0;
  bool legacy = false;
  bool destroyed = false;  // removed when it is empty
  State state = State::kReady;
  ContextGroup* group = nullptr;  // null: non-blocking
  Operation* head = nullptr;  // not done
  Operation* tail = nullptr;
  // Runs, or is next: the head, but behind what is issued, or in a conditional node. Null: nothing is left to begin.
  Operation* at = nullptr;
  uint32_t issued = 0;  // operations that are
  ConditionalWalk walk;
  bool rests = false;  // the task that runs is for a rest of the walk
  uint32_t open_conditionals = 0;  // of which the end has not come
  uint64_t done_ticket = 0;  // last completed, not yet reported
  bool progressed = false;
  bool listed = false;  // in the engine's list of streams to advance
  Stream* next_listed = nullptr;
  std::vector<Waiter> waiters;  // a heap
  std::vector<Waiter> joined;   // a heap of those for which the device waits, until no record up to `ticket` is left

  // Whether a record up to `ticket` is not done, or not even issued. A conditional node is done as a whole.
  bool HasUpTo(uint64_t ticket) const { return head != nullptr && head->ticket <= ticket; }
  bool HasToIssueUpTo(uint64_t ticket) const {
    const Operation* const first = walk.outside() ? at : head;
    return first != nullptr && first->ticket <= ticket;
  }
};

}  // namespace tutti::device
