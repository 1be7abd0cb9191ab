#include "client/memory/memory_pool.h"

#include <sys/random.h>

#include <array>
#include <cstring>
#include <mutex>

#include "client/context/context.h"
#include "client/memory/graph_memory.h"
#include "client/memory/ipc_memory.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

struct DevicePools {
  MemoryPool* standard = nullptr;
  MemoryPool* current = nullptr;
};

struct Pools {
  std::mutex mutex;
  std::array<DevicePools, wire::kMaxDevices> of_device;
};

Pools& AllPools() {
  static auto* const pools = new Pools;
  return *pools;
}

DevicePools& PoolsOf(Pools& pools, Device& device) {
  DevicePools& entry = pools.of_device[static_cast<size_t>(device.ordinal())];
  if (entry.standard == nullptr) entry.standard = entry.current = MemoryPool::Create(device);
  return entry;
}

}  // namespace

constinit Pool<MemoryPool, 4096> MemoryPool::pool_;

MemoryPool* MemoryPool::Create(Device& device, uint64_t most_bytes, bool shared) {
  uint64_t number = 0;
  while (shared && number == 0) {
    if (getrandom(&number, sizeof number, 0) != sizeof number) return nullptr;
  }
  return pool_.Create(device, most_bytes, number, false);
}

MemoryPool* MemoryPool::DefaultOf(Device& device) {
  std::lock_guard lock(AllPools().mutex);
  return PoolsOf(AllPools(), device).standard;
}

MemoryPool* MemoryPool::CurrentOf(Device& device) {
  std::lock_guard lock(AllPools().mutex);
  DevicePools& pools = PoolsOf(AllPools(), device);
  return Find(pools.current) != nullptr ? pools.current : pools.standard;
}

void MemoryPool::SetCurrentOf(Device& device, MemoryPool* pool) {
  std::lock_guard lock(AllPools().mutex);
  PoolsOf(AllPools(), device).current = pool;
}

int MemoryPool::Destroy(MemoryPool* pool) {
  if (pool == DefaultOf(pool->device_) || !pool_.Retire(pool)) return CUDA_ERROR_INVALID_VALUE;
  pool_.Delete(pool);
  return CUDA_SUCCESS;
}

Answer<uint64_t> MemoryPool::Allocate(Stream& stream, uint64_t bytes) {
  const uint64_t used = used_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const bool fits = !imported_ && (most_bytes_ == 0 || (used <= most_bytes_ && used >= bytes));
  auto address =
      fits ? client::Allocate(stream.context(), AllocationKind::kPool, bytes) : Refuse(CUDA_ERROR_OUT_OF_MEMORY);
  if (!address) {
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return address;
  }
  AllocationTable::Get().Update(*address, [&](Allocation& a) {
    a.pool = reinterpret_cast<uint64_t>(this);
    a.freed = &MemoryPool::CountFreed;
  });
  uint64_t high = used_high_bytes_.load(std::memory_order_relaxed);
  while (high < used && !used_high_bytes_.compare_exchange_weak(high, used, std::memory_order_relaxed)) {
  }
  return address;
}

int MemoryPool::Free(Stream& stream, uint64_t address) {
  const auto taken = AllocationTable::Get().Take(address, [](const Allocation& a) {
    return a.kind == AllocationKind::kPool || a.kind == AllocationKind::kDevice;
  });
  if (!taken) {
    const auto of_graph = GraphAllocation::Find(address);
    return of_graph != nullptr ? of_graph->Free() : IpcMemory::Get().Close(address);
  }
  ReturnMemory(*taken, &stream);
  return CUDA_SUCCESS;
}

void MemoryPool::CountFreed(const Allocation& freed) {
  if (MemoryPool* const pool = Find(reinterpret_cast<void*>(freed.pool)))
    pool->used_bytes_.fetch_sub(freed.bytes, std::memory_order_relaxed);
}

int MemoryPool::GetAttribute(CUmemPool_attribute attribute, void* value) const {
  const auto give = [&](uint64_t number) {
    std::memcpy(value, &number, sizeof number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      const int on = reuse_[attribute - 1];
      std::memcpy(value, &on, sizeof on);
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return give(release_threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return give(used_bytes_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return give(used_high_bytes_);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

int MemoryPool::SetAttribute(CUmemPool_attribute attribute, const void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_[attribute - 1] = *static_cast<const int*>(value) != 0;
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: release_threshold_ = *static_cast<const uint64_t*>(value); break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*static_cast<const uint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;  // it can only be reset to 0
      used_high_bytes_ = used_bytes_.load();
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace tutti::client
