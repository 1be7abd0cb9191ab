// The table of everything a pointer can refer to: device memory, pinned and registered host memory, managed memory,
// globals of modules.
//
// It answers the driver API's pointer queries and bounds-checks copies. Addresses are the same in host and device code;
// registered memory exists in host code alone.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "client/base/answer.h"

namespace tutti::client {

class Context;

enum class AllocationKind : uint8_t {
  kDevice,
  kPool,  // stream-ordered; freed by cuMemFreeAsync or cuMemFree
  kGraph,  // of a node of a graph (client/memory/graph_memory.h)
  kArray,
  kTexture,  // what a texture object's handle points to
  kSurface,
  kHost,  // pinned, in the window
  kManaged,
  kModule,  // globals and constants of a module
  kRegistered,  // the program's own pages
  kVirtual,  // a mapping of client/memory/virtual_memory.h
  kImported,  // another process's (client/memory/ipc_memory.h)
};

struct Allocation {
  uint64_t address = 0;
  uint64_t bytes = 0;
  AllocationKind kind = AllocationKind::kDevice;
  Context* context = nullptr;
  uint64_t device_address = 0;  // of its first byte in device code; 0: none (registered memory)
  uint64_t host_address = 0;  // of its first byte in host code; 0: not for host code
  unsigned flags = 0;  // as it was allocated or registered
  uint64_t id = 0;  // never reused (CU_POINTER_ATTRIBUTE_BUFFER_ID)
  uint64_t pool = 0;  // handle of its memory pool
  void (*freed)(const Allocation& freed) = nullptr;  // called when it has been freed
  bool sync_memops = false;

  bool on_host() const { return kind == AllocationKind::kHost || kind == AllocationKind::kRegistered; }
};

// Thread-safe.
class AllocationTable {
 public:
  static AllocationTable& Get();

  // False if it would overlap another one.
  bool Insert(Allocation allocation);
  // The allocation that contains the address.
  std::optional<Allocation> Find(uint64_t address) const;
  // The same, but nothing if the table is just being changed. Async-signal-safe.
  std::optional<Allocation> FindAtOnce(uint64_t address) const;
  // Removes and returns the allocation that begins at the address, if `wanted` accepts it.
  template <typename Wanted>
  std::optional<Allocation> Take(uint64_t address, Wanted wanted) {
    std::unique_lock lock(mutex_);
    const auto it = by_address_.find(address);
    if (it == by_address_.end() || !wanted(it->second)) return std::nullopt;
    const Allocation taken = it->second;
    by_address_.erase(it);
    return taken;
  }
  // Calls change(allocation) on the one that contains the address; false if there is none.
  template <typename Change>
  bool Update(uint64_t address, Change change) {
    std::unique_lock lock(mutex_);
    const auto it = Containing(address);
    if (it == by_address_.end()) return false;
    change(const_cast<Allocation&>(it->second));
    return true;
  }
  // Whether [address, address + bytes) lies in one allocation, or in contiguous mappings.
  bool Covers(uint64_t address, uint64_t bytes) const;
  // Removes and returns all memory of a context; modules and mappings end by themselves.
  std::vector<Allocation> TakeAllOf(const Context& context);

 private:
  using Map = std::map<uint64_t, Allocation>;
  Map::const_iterator Containing(uint64_t address) const;

  mutable std::shared_mutex mutex_;
  Map by_address_;
  uint64_t next_id_ = 1;
};

}  // namespace tutti::client
