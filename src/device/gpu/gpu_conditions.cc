#include "device/gpu/gpu_conditions.h"

#include <fmt/format.h>

#include <atomic>

#include "cuda/result.h"
#include "wire/ring_layout.h"

namespace tutti::device::gpu {

Result<uint64_t> GpuConditions::Create(GpuMemory& memory) {
  constexpr uint64_t kBytes = wire::kMostConditions * sizeof(uint32_t);
  {
    std::lock_guard lock(mutex_);
    if (conditions_.size() == wire::kMostConditions)
      return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                  fmt::format("the client has {} conditions already", wire::kMostConditions));
  }
  if (begin_ == 0) {  // one thread creates
    TUTTI_ASSIGN(const uint64_t begin,
                 memory.Allocate(wire::MemoryKind::kHost, kBytes, sizeof(uint64_t), GpuMemory::Holder::kDevice));
    std::lock_guard lock(mutex_);
    begin_ = begin;
    words_ = reinterpret_cast<uint32_t*>(memory.Reached(begin, kBytes));
  }
  std::lock_guard lock(mutex_);
  uint64_t condition = 0;
  if (made_ < wire::kMostConditions) {
    condition = begin_ + uint64_t{made_++} * sizeof(uint32_t);
  } else {
    condition = free_.front();
    free_.pop_front();
  }
  conditions_.emplace(condition, false);
  return condition;
}

bool GpuConditions::Retire(uint64_t condition) {
  std::lock_guard lock(mutex_);
  const auto found = conditions_.find(condition);
  if (found == conditions_.end() || found->second) return false;
  found->second = true;
  return true;
}

void GpuConditions::Erase(uint64_t condition) {
  std::lock_guard lock(mutex_);
  if (conditions_.erase(condition) != 0) free_.push_back(condition);
}

bool GpuConditions::Has(uint64_t condition) const {
  std::lock_guard lock(mutex_);
  const auto found = conditions_.find(condition);
  return found != conditions_.end() && !found->second;
}

uint32_t* GpuConditions::WordOf(uint64_t condition) const {
  return conditions_.contains(condition) ? words_ + (condition - begin_) / sizeof(uint32_t) : nullptr;
}

uint32_t GpuConditions::ValueOf(uint64_t condition) const {
  std::lock_guard lock(mutex_);
  uint32_t* const word = WordOf(condition);
  return word != nullptr ? std::atomic_ref(*word).load(std::memory_order_acquire) : 0;
}

void GpuConditions::Set(uint64_t condition, uint32_t value) {
  std::lock_guard lock(mutex_);
  uint32_t* const word = WordOf(condition);
  if (word != nullptr) std::atomic_ref(*word).store(value, std::memory_order_release);
}

}  // namespace tutti::device::gpu
