// One record of a stream: what it does, and where it stands in the orders it is part of. Pooled per Space. Guarded by
// the Space's lock, except its task while the scheduler has it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/task.h"

namespace tutti::device::cpu {

struct Stream;
struct Batch;
struct Generation;
struct KernelInstance;

struct Operation {
  enum class Kind : uint8_t { kTask, kEvent, kWait, kHostCall, kMark };

  Kind kind = Kind::kMark;
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

// Free operations of one Space. Not thread-safe.
class OperationPool {
 public:
  ~OperationPool() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next);
  }
  Operation* Get() {
    if (free_ == nullptr) return new Operation;
    return std::exchange(free_, free_->next);
  }
  void Put(Operation* operation) {
    operation->next = free_;
    free_ = operation;
  }

 private:
  Operation* free_ = nullptr;
};

}  // namespace tutti::device::cpu
