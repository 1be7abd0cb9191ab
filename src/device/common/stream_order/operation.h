// One record of a stream: what it does, and its place in the orders it is part of. Guarded by the Space's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/ring_layout.h"

namespace tutti::device {

struct Stream;
struct Batch;
struct Generation;

// A backend derives its own, with what it runs.
struct Operation {
  enum class Kind : uint8_t {
    kTask,
    kEvent,
    kWait,
    kHostCall,
    kFree,
    kMark,
    kStore,  // the owner writes something where others look
    kConditionSet,
    // Of conditional nodes (conditional_walk.h).
    kConditional,  // its task does nothing
    kBody,
    kConditionalEnd,
  };

  virtual ~Operation() = default;

  Kind kind = Kind::kMark;
  bool issued = false;  // the device has it, and is not done with it
  bool joined = false;  // kWait: the device waits
  uint32_t weight = 0;  // wire::BacklogWeight
  uint64_t ticket = 0;
  Operation* next = nullptr;  // in the stream, or in the pool
  Stream* stream = nullptr;
  Batch* batch = nullptr;  // null outside the legacy order
  Generation* generation = nullptr;

  uint32_t event = 0;         // kEvent: 0: no time wanted
  uint64_t reached_ns = 0;    // kEvent: when, as the device says; 0: it does not
  uint32_t other_stream = 0;  // kWait
  uint64_t other_ticket = 0;
  uint64_t token = 0;  // kHostCall
  uint64_t freed = 0;  // kFree: memory to release, or 0
  uint64_t address = 0, value = 0;  // kStore, on a device that says what is stored so
  uint64_t condition = 0;  // kConditionSet, kConditional
  uint32_t number = 0;  // kConditionSet: the value; kConditional: the body that runs now; kBody: its own
  wire::ConditionalKind conditional = wire::ConditionalKind::kIf;  // kConditional
  bool no_more = false;  // kConditionalEnd: wire::ConditionalEndBody

  std::vector<uint8_t> arguments;  // of a launch; keeps its capacity in the pool
};

}  // namespace tutti::device
