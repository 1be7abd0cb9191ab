// The conditions of a client's conditional graph nodes: values that its kernels set and its streams decide by.
//
// Kernels name them by numbers that may be anything. So the values are the server's, and a number counts only if this
// client has been given it for the device that its kernel runs on. Thread-safe; its lock comes after the Space's.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "wire/ring_layout.h"

namespace tutti::device::cpu {

class ConditionTable {
 public:
  // Nothing if there are wire::kMostConditions.
  std::optional<uint64_t> Create(uint32_t device) {
    std::lock_guard lock(mutex_);
    if (conditions_.size() == wire::kMostConditions) return std::nullopt;
    conditions_.emplace(++last_, Condition{.device = device});
    return last_;
  }
  // No later record may name it: false if none might have. What came before may go on until Erase.
  bool Retire(uint64_t number) {
    std::lock_guard lock(mutex_);
    const auto found = conditions_.find(number);
    if (found == conditions_.end() || found->second.retired) return false;
    found->second.retired = true;
    return true;
  }
  void Erase(uint64_t number) {
    std::lock_guard lock(mutex_);
    conditions_.erase(number);
  }
  // Whether a record for this device may name it.
  bool Has(uint32_t device, uint64_t number) const {
    std::lock_guard lock(mutex_);
    const auto found = conditions_.find(number);
    return found != conditions_.end() && found->second.device == device && !found->second.retired;
  }
  // False if there is none of this number on the device.
  bool Set(uint32_t device, uint64_t number, uint32_t value) {
    std::lock_guard lock(mutex_);
    const auto found = conditions_.find(number);
    if (found == conditions_.end() || found->second.device != device) return false;
    found->second.value = value;
    return true;
  }
  // 0 if there is none.
  uint32_t ValueOf(uint32_t device, uint64_t number) const {
    std::lock_guard lock(mutex_);
    const auto found = conditions_.find(number);
    return found != conditions_.end() && found->second.device == device ? found->second.value : 0;
  }

 private:
  struct Condition {
    uint32_t device = 0;
    uint32_t value = 0;
    bool retired = false;
  };

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Condition> conditions_;
  uint64_t last_ = uint64_t{0xc04d} << 48;  // like no address, and no small number
};

}  // namespace tutti::device::cpu
