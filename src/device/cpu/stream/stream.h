// One stream: its records in order, and what its first one waits for. Guarded by the Space's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/stream/conditional_walk.h"
#include "device/cpu/stream/operation.h"

namespace tutti::device::cpu {

struct ContextGroup;

struct Stream {
  enum class State : uint8_t {
    kReady,  // the first record, if any, may start
    kRunning,   // the scheduler has its task
    kInBatch,  // waits for its batch in the legacy order
    kWaiting,  // waits for another stream
    kHostCall,  // the client's function runs
  };

  // Another stream's wait for this one: satisfied when no record up to `ticket` is left.
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
  Operation* head = nullptr;  // not completed
  Operation* tail = nullptr;
  Operation* at = nullptr;  // runs, or is next: the head, but in a conditional node. Null: nothing is left to run
  ConditionalWalk walk;
  bool rests = false;  // the task that runs is for a rest of the walk
  uint32_t open_conditionals = 0;  // of which the end has not come
  uint64_t done_ticket = 0;  // last completed, not yet reported
  bool progressed = false;
  bool listed = false;  // in the engine's list of streams to advance
  Stream* next_listed = nullptr;
  std::vector<Waiter> waiters;  // a heap

  bool HasUpTo(uint64_t ticket) const { return head != nullptr && head->ticket <= ticket; }
};

}  // namespace tutti::device::cpu
