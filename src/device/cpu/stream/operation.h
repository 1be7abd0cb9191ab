// One record of a stream: what it does, and its place in the orders it is part of. Pooled per Space. Guarded by the
// Space's lock, except its task while the scheduler has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/schedule/task.h"
#include "device/host_share.h"
#include "wire/backlog.h"
#include "wire/ring_layout.h"

namespace tutti::device {
struct Generation;
}  // namespace tutti::device

namespace tutti::device::cpu {

struct Stream;
struct Batch;
struct KernelInstance;

struct Operation {
  enum class Kind : uint8_t {
    kTask,
    kEvent,
    kWait,
    kHostCall,
    kFree,
    kMark,
    kConditionSet,
    // Of conditional nodes (conditional_walk.h).
    kConditional,  // its task does nothing
    kBody,
    kConditionalEnd,
  };

  Kind kind = Kind::kMark;
  uint32_t weight = 0;  // wire::BacklogWeight
  uint64_t ticket = 0;
  Operation* next = nullptr;  // in the stream, or in the pool
  Stream* stream = nullptr;
  Batch* batch = nullptr;  // null outside the legacy order
  Generation* generation = nullptr;

  uint32_t event = 0;         // kEvent: 0: no time wanted
  uint32_t other_stream = 0;  // kWait
  uint64_t other_ticket = 0;
  uint64_t token = 0;  // kHostCall
  uint64_t freed = 0;  // kFree: memory to release, or 0
  uint64_t condition = 0;  // kConditionSet, kConditional
  uint32_t number = 0;  // kConditionSet: the value; kConditional: the body that runs now; kBody: its own
  wire::ConditionalKind conditional = wire::ConditionalKind::kIf;  // kConditional
  bool no_more = false;  // kConditionalEnd: wire::ConditionalEndBody

  Task task;                               // kTask, kConditional
  KernelInstance* kernel = nullptr;  // of a launch; lives as long as work submitted before its module's unloading
  std::vector<uint8_t> arguments;  // keeps its capacity in the pool
};

// The operations of one Space: those in streams, counted by weight (wire/backlog.h), and a free list. The backlog of a
// few streams, as libraries allow it, is always admitted; anything beyond counts as the client's host memory, or many
// clients together could have the system kill their server. Not thread-safe.
class OperationPool {
 public:
  // `most`: bound on the weight in streams. `host` outlives it.
  OperationPool(uint32_t most, HostShare* host) : most_(most), host_(host), room_(std::min(most, kFree)) {}
  ~OperationPool() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next);
  }
  // Null if there are too many.
  Operation* Get(uint32_t weight) {
    if (weight > room_ - weight_ && !MakeRoom(weight)) return nullptr;
    Operation* operation = free_;
    if (operation != nullptr) {
      free_ = operation->next;
      --free_count_;
    } else {
      operation = new Operation;
    }
    operation->weight = weight;
    weight_ += weight;
    return operation;
  }
  void Put(Operation* operation) {
    weight_ -= operation->weight;
    if (room_ > kFree && room_ - weight_ >= 2 * kStep) GiveRoom();
    if (free_count_ == kMostFree || operation->arguments.capacity() > kMostKeptBytes) return Discard(operation);
    ++free_count_;
    operation->next = free_;
    free_ = operation;
  }

 private:
  // Enough for a client that runs as far ahead of its device as it may.
  static constexpr uint32_t kMostFree = wire::kStreamBacklog;
  static constexpr size_t kMostKeptBytes = 1024;

  static constexpr uint32_t kFree = 2 * wire::kSharedBacklog;
  static constexpr uint32_t kStep = 16 << 10;
  static constexpr uint64_t kBytesOfWeight = 1024;  // about: an operation, and its arguments by the KiB

  [[gnu::noinline]] static void Discard(Operation* operation) { delete operation; }
  [[gnu::noinline]] bool MakeRoom(uint32_t weight) {
    const uint32_t more = std::min(most_ - room_, kStep);
    if (weight > room_ + more - weight_ || !host_->Reserve(more * kBytesOfWeight)) return false;
    room_ += more;
    return true;
  }
  [[gnu::noinline]] void GiveRoom() {
    const uint32_t less = std::min(room_ - kFree, kStep);
    host_->Release(less * kBytesOfWeight);
    room_ -= less;
  }

  const uint32_t most_;
  HostShare* const host_;
  uint32_t room_;  // admitted weight that needs no reservation
  uint32_t weight_ = 0;  // in streams
  Operation* free_ = nullptr;
  uint32_t free_count_ = 0;
};

}  // namespace tutti::device::cpu
