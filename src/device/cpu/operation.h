// One record of a stream: what it does, and where it stands in the orders it is part of. Pooled per Space. Guarded by
// the Space's lock, except its task while the scheduler has it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/task.h"
#include "wire/backlog.h"

namespace tutti::device::cpu {

struct Stream;
struct Batch;
struct Generation;
struct KernelInstance;

struct Operation {
  enum class Kind : uint8_t { kTask, kEvent, kWait, kHostCall, kMark };

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

  Task task;                               // kTask
  const KernelInstance* kernel = nullptr;  // of a launch; lives as long as work submitted before its unloading
  std::vector<uint8_t> arguments;          // capacity stays with the pooled operation
};

// The operations of one Space: those that are in streams, counted by what they weigh (wire/backlog.h), and some that are
// free. Not thread-safe.
class OperationPool {
 public:
  // `most`: weight that may be in streams at a time.
  explicit OperationPool(uint32_t most) : most_(most) {}
  ~OperationPool() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next);
  }
  // Null if there are too many.
  Operation* Get(uint32_t weight) {
    if (weight > most_ - weight_) return nullptr;
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
    if (free_count_ == kMostFree || operation->arguments.capacity() > kMostKeptBytes) {
      delete operation;
      return;
    }
    ++free_count_;
    operation->next = free_;
    free_ = operation;
  }

 private:
  // What a client that runs ahead of its device as far as it may needs again and again.
  static constexpr uint32_t kMostFree = wire::kStreamBacklog;
  static constexpr size_t kMostKeptBytes = 1024;

  const uint32_t most_;
  uint32_t weight_ = 0;  // in streams
  Operation* free_ = nullptr;
  uint32_t free_count_ = 0;
};

}  // namespace tutti::device::cpu
