#include "client/memory/graph_memory.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"

namespace tutti::client {
namespace {

// Everything that graphs allocate. One lock: nodes are made and graphs launched far less often than kernels.
struct All {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<GraphAllocation>> last;  // by address
  std::array<GraphMemoryUse, wire::kMaxDevices> uses;  // by ordinal

  static All& Get() {
    static auto* const all = new All;
    return *all;
  }
  GraphMemoryUse& UseOf(const Device& device) { return uses[static_cast<size_t>(device.ordinal())]; }
};

}  // namespace

// Memory for the allocations at one address.
struct GraphAllocation::Block {
  const uint64_t address;
  const uint64_t bytes;
  const uint64_t id;  // in the table of allocations
  const Device* const device;
  bool gone = false;  // ended with its context; under the lock

  Block(const Allocation& allocation, const Device& on)
      : address(allocation.address), bytes(allocation.bytes), id(allocation.id), device(&on) {}
  Block(const Block&) = delete;
  // Unless its context has ended, which ended it as well.
  ~Block() {
    {
      std::lock_guard lock(All::Get().mutex);
      if (!gone) All::Get().UseOf(*device).reserved -= bytes;
    }
    const auto taken = AllocationTable::Get().Take(
        address, [&](const Allocation& a) { return a.kind == AllocationKind::kGraph && a.id == id; });
    if (taken) ReturnMemory(*taken);
  }
};

GraphAllocation::GraphAllocation(std::shared_ptr<Block> block, uint64_t owner)
    : block_(std::move(block)), owner_(owner) {}

uint64_t GraphAllocation::address() const { return block_->address; }
uint64_t GraphAllocation::bytes() const { return block_->bytes; }
const Device& GraphAllocation::device() const { return *block_->device; }

Answer<GraphAllocation::Handle> GraphAllocation::Create(Context& context, uint64_t owner, uint64_t bytes) {
  CU_ASSIGN_OR_REFUSE(const uint64_t address, Allocate(context, AllocationKind::kGraph, bytes));
  All& all = All::Get();
  std::lock_guard lock(all.mutex);
  std::optional<Allocation> entry;
  AllocationTable::Get().Update(address, [&](Allocation& allocation) {
    if (allocation.kind != AllocationKind::kGraph) return;
    allocation.freed = &GraphAllocation::MemoryFreed;
    entry = allocation;
  });
  if (!entry) return Refuse(cuda::CUDA_ERROR_UNKNOWN);  // its context has just ended
  GraphMemoryUse& use = all.UseOf(context.device());
  use.reserved += bytes;
  use.reserved_high = std::max(use.reserved_high, use.reserved);
  const Handle made(new GraphAllocation(std::make_shared<Block>(*entry, context.device()), owner));
  all.last[address] = made;
  return made;
}

// A context may end before the graphs that have memory in it.
void GraphAllocation::MemoryFreed(const Allocation& memory) {
  Handle last, dropped;  // outlive the lock
  All& all = All::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.last.find(memory.address);
  if (found != all.last.end()) last = found->second.lock();
  if (last == nullptr || last->block_->id != memory.id) return;
  last->block_->gone = true;
  all.UseOf(last->device()).reserved -= memory.bytes;
  if (last->holder_ != nullptr) dropped = last->End();
  all.last.erase(found);
}

GraphAllocation::Handle GraphAllocation::CreateInPlaceOf(const GraphAllocation& earlier) {
  const Handle made(new GraphAllocation(earlier.block_, earlier.owner_));
  std::lock_guard lock(All::Get().mutex);
  All::Get().last[earlier.address()] = made;
  return made;
}

GraphAllocation::Handle GraphAllocation::Find(uint64_t address) {
  All& all = All::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.last.find(address);
  return found != all.last.end() ? found->second.lock() : nullptr;
}

GraphAllocation::~GraphAllocation() {
  All& all = All::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.last.find(address());
  if (found != all.last.end() && found->second.expired()) all.last.erase(found);
}

bool GraphAllocation::MayBeFreedBy(uint64_t graph) const {
  std::lock_guard lock(All::Get().mutex);
  return !freed_by_owner_ && (graph != owner_ || !freed_by_others_);
}

void GraphAllocation::SetFreedBy(uint64_t graph) {
  std::lock_guard lock(All::Get().mutex);
  (graph == owner_ ? freed_by_owner_ : freed_by_others_) = true;
}

void GraphAllocation::Begin(Handle self) {
  All::Get().UseOf(*block_->device).Add(bytes());
  holder_ = std::move(self);
}

GraphAllocation::Handle GraphAllocation::End() {
  All::Get().UseOf(*block_->device).used -= bytes();
  return std::exchange(holder_, nullptr);
}

int GraphAllocation::Free() {
  Handle dropped;
  std::lock_guard lock(All::Get().mutex);
  if (holder_ == nullptr) {
    return Complain(cuda::CUDA_ERROR_INVALID_VALUE, "free of {:#x}, which a node of a graph allocates: {}", address(),
                    freed_by_owner_ ? "its graph frees it" : "no launch has allocated it since it was freed");
  }
  dropped = End();
  return cuda::CUDA_SUCCESS;
}

Answer<std::vector<GraphAllocation::Handle>> GraphAllocation::Take(const Turn& turn, bool auto_free) {
  std::vector<Handle> dropped, begun;
  std::lock_guard lock(All::Get().mutex);
  for (const Handle& mine : turn.allocated) {
    if (mine->block_->gone) {
      return Refuse(
          Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                   "launch of a graph whose allocation at {:#x} has ended with its context: create the graph again",
                   mine->address()));
    }
    if (mine->holder_ == nullptr || auto_free) continue;
    return Refuse(
        Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                 "launch of a graph whose allocation at {:#x} has not been freed since its last launch: free it, or "
                 "instantiate with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH",
                 mine->address()));
  }
  for (const Handle& other : turn.freed) {
    if (other->holder_ != nullptr) continue;
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                           "launch of a graph that frees {:#x}, which is not allocated now", other->address()));
  }
  for (const Handle& other : turn.freed) dropped.push_back(other->End());
  std::set<const Block*> passing;  // all that is allocated there is freed in the same graph
  for (const Handle& mine : turn.allocated) {
    if (mine->freed_by_owner_) passing.insert(mine->block_.get());
  }
  for (const Handle& mine : turn.allocated) {
    if (mine->freed_by_owner_) continue;
    passing.erase(mine->block_.get());
    if (mine->holder_ != nullptr) continue;
    mine->Begin(mine);
    begun.push_back(mine);
  }
  for (const Block* block : passing) All::Get().UseOf(*block->device).Add(block->bytes);
  for (const Block* block : passing) All::Get().UseOf(*block->device).used -= block->bytes;
  return begun;
}

void GraphAllocation::Undo(const std::vector<Handle>& begun) {
  std::vector<Handle> dropped;
  std::lock_guard lock(All::Get().mutex);
  for (const Handle& mine : begun) {
    if (mine->holder_ != nullptr) dropped.push_back(mine->End());
  }
}

GraphMemoryUse GraphMemoryUse::Of(const Device& device) {
  std::lock_guard lock(All::Get().mutex);
  return All::Get().UseOf(device);
}

void GraphMemoryUse::ResetUsedHigh(const Device& device) {
  std::lock_guard lock(All::Get().mutex);
  GraphMemoryUse& use = All::Get().UseOf(device);
  use.used_high = use.used;
}

void GraphMemoryUse::ResetReservedHigh(const Device& device) {
  std::lock_guard lock(All::Get().mutex);
  GraphMemoryUse& use = All::Get().UseOf(device);
  use.reserved_high = use.reserved;
}

}  // namespace tutti::client
