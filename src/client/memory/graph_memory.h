// Memory that nodes of graphs allocate and free (cuGraphAddMemAllocNode, a captured cuMemAllocAsync).
//
// The address of such an allocation is fixed when its node is made, long before anything runs, and stays the same for
// all launches. So the node allocates the memory, and the library gives it back when no graph, executable graph or
// program uses it any more, or when its context ends. Launches and frees only change whose turn it is: an allocation
// that its own graph does not free is *live* from its launch until the program or another graph frees it. Within a
// graph, an allocation takes the memory of an equally large one that is certainly freed before it, as the API allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/base/answer.h"

namespace tutti::client {

class Context;
class Device;
struct Allocation;

// Thread-safe.
class GraphAllocation {
 public:
  using Handle = std::shared_ptr<GraphAllocation>;

  // Of a node of the graph with the number `owner`.
  static Answer<Handle> Create(Context& context, uint64_t owner, uint64_t bytes);
  // In the memory of `earlier`, whose graph has freed it before the new one is allocated.
  static Handle CreateInPlaceOf(const GraphAllocation& earlier);
  // The latest allocation at the address; null if there is none.
  static Handle Find(uint64_t address);
  ~GraphAllocation();

  uint64_t address() const;
  uint64_t bytes() const;
  const Device& device() const;
  uint64_t owner() const { return owner_; }
  // Whether it is the latest at its address.
  bool last() const { return Find(address()).get() == this; }

  // Whether a node of the graph may free it: no other may if its own graph does, and its own may not if another does.
  bool MayBeFreedBy(uint64_t graph) const;
  void SetFreedBy(uint64_t graph);
  // The program frees it. INVALID_VALUE unless it is live.
  int Free();

  // What a launch does: allocates `allocated`, which are all of its graph's, and frees `freed`. INVALID_VALUE, and
  // nothing is changed, if one of the first is live (with `auto_free` it is freed instead) or has ended with its
  // context, or if one of the others is not live.
  struct Turn {
    std::vector<Handle> allocated;
    std::vector<Handle> freed;  // of other graphs
  };
  // Returns those that are live by it.
  static Answer<std::vector<Handle>> Take(const Turn& turn, bool auto_free);
  // The launch has failed: what Take returned is not live any more.
  static void Undo(const std::vector<Handle>& begun);

 private:
  struct Block;
  // For Allocation::freed: with its memory, the last one made there ends.
  static void MemoryFreed(const Allocation& memory);
  GraphAllocation(std::shared_ptr<Block> block, uint64_t owner);
  // It becomes live, or is no longer. Under the lock; what End returns is to be dropped outside of it.
  void Begin(Handle self);
  [[nodiscard]] Handle End();

  const std::shared_ptr<Block> block_;
  const uint64_t owner_;
  bool freed_by_owner_ = false;
  bool freed_by_others_ = false;
  Handle holder_;  // itself, while it is live
};

// Bytes of a device that graphs have (cuDeviceGetGraphMemAttribute).
struct GraphMemoryUse {
  uint64_t used = 0, used_high = 0;  // by allocations that are live, or were while a graph ran
  uint64_t reserved = 0, reserved_high = 0;

  void Add(uint64_t bytes) {
    used += bytes;
    used_high = std::max(used_high, used);
  }
  static GraphMemoryUse Of(const Device& device);
  static void ResetUsedHigh(const Device& device);
  static void ResetReservedHigh(const Device& device);
};

}  // namespace tutti::client
