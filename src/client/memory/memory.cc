#include "client/memory/memory.h"

#include <sched.h>

#include <atomic>

#include "base/clock.h"
#include "client/base/complaint.h"
#include "client/context/stream.h"
#include "client/memory/graph_memory.h"
#include "client/memory/ipc_memory.h"

namespace tutti::client {
namespace {

constexpr uint64_t kHugePage = 2u << 20;
constexpr uint64_t kLongestAwaitNs = 200'000'000;
constinit std::atomic<uint64_t> after_last_free{0};  // position in the ring; 0: none

wire::MemoryKind WireKind(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::kHost: return wire::MemoryKind::kHost;
    case AllocationKind::kManaged: return wire::MemoryKind::kManaged;
    case AllocationKind::kTexture:
    case AllocationKind::kSurface: return wire::MemoryKind::kScratch;  // records that this library writes and reads
    default: return wire::MemoryKind::kDevice;
  }
}

int NotAllocated(uint64_t address) {
  return Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                  "free of {:#x}, where no allocation of this kind begins: freed before?", address);
}

}  // namespace

Answer<uint64_t> AskForMemory(Context& context, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment,
                              uint64_t wish) {
  const wire::AllocateBody body{
      .bytes = bytes, .alignment = alignment, .kind = kind, .device = context.device().index(), .wish = wish};
  const bool on_device = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged;
  const ipc::Reply reply = AskTwiceForMemory(
      context, on_device, [&] { return Attachment::Get().replies().Call(wire::RecordKind::kAllocate, body); });
  if (reply.status != 0) return Refuse(reply.status);
  if (!Attachment::Get().InWindow(reply.value[0], bytes)) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  if (!Attachment::Get().connection().window().Open(reply.value[0], bytes)) {
    ReleaseMemory(reply.value[0]);
    return Refuse(cuda::CUDA_ERROR_OUT_OF_MEMORY);
  }
  return reply.value[0];
}

void ReleaseMemory(uint64_t address, Stream* stream) {
  const wire::FreeBody body{.address = address};
  const uint64_t ticket = stream != nullptr ? stream->Submit(wire::RecordKind::kStreamFree, body)
                                            : Attachment::Get().ring().Submit(wire::RecordKind::kFree, 0, body);
  after_last_free.store(ticket + 1, std::memory_order_relaxed);
}

// The server takes a record within microseconds, but not while the client's backlog is full; then the answer does not
// yet count the free.
void AwaitFrees() {
  Attachment& attachment = Attachment::Get();
  const uint64_t wanted = after_last_free.load(std::memory_order_relaxed);
  const uint64_t give_up_ns = NowNs() + kLongestAwaitNs;
  while (attachment.header().head.load(std::memory_order_acquire) < wanted && attachment.ended() == 0 &&
         NowNs() < give_up_ns) {
    attachment.ring().Nudge();
    sched_yield();
  }
}

void ForgetFrees() { after_last_free.store(0, std::memory_order_relaxed); }

Answer<uint64_t> Allocate(Context& context, AllocationKind kind, uint64_t bytes, unsigned flags) {
  if (bytes == 0) return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  const uint64_t alignment = bytes >= kHugePage ? kHugePage : 512;
  CU_ASSIGN_OR_REFUSE(const uint64_t address, AskForMemory(context, WireKind(kind), bytes, alignment));
  Allocation allocation{
      .address = address, .bytes = bytes, .kind = kind, .context = &context.owner(), .device_address = address};
  if (kind == AllocationKind::kHost || kind == AllocationKind::kManaged) allocation.host_address = address;
  allocation.flags = flags;
  if (!AllocationTable::Get().Insert(allocation)) return Refuse(cuda::CUDA_ERROR_MPS_RPC_FAILURE);
  if (kind == AllocationKind::kHost) Attachment::Get().connection().window().Share(address, bytes);
  return address;
}

int FreeDeviceMemory(uint64_t address) {
  const auto taken = AllocationTable::Get().Take(address, [](const Allocation& a) {
    return a.kind == AllocationKind::kDevice || a.kind == AllocationKind::kPool || a.kind == AllocationKind::kManaged;
  });
  if (!taken) {
    const auto of_graph = GraphAllocation::Find(address);
    if (of_graph != nullptr) return of_graph->Free();
    // What cuMemPoolImportPointer gave is freed like this; it stays its exporter's.
    return IpcMemory::Get().Close(address) == 0 ? cuda::CUDA_SUCCESS : NotAllocated(address);
  }
  ReturnMemory(*taken);
  return cuda::CUDA_SUCCESS;
}

int FreeHostMemory(uint64_t address) {
  const auto taken =
      AllocationTable::Get().Take(address, [](const Allocation& a) { return a.kind == AllocationKind::kHost; });
  if (!taken) return NotAllocated(address);
  ReturnMemory(*taken);
  return cuda::CUDA_SUCCESS;
}

void ReturnMemory(const Allocation& allocation, Stream* stream) {
  if (allocation.freed != nullptr) allocation.freed(allocation);
  if (allocation.kind == AllocationKind::kHost)
    Attachment::Get().connection().window().Hide(allocation.address, allocation.bytes);
  if (allocation.kind != AllocationKind::kRegistered) ReleaseMemory(allocation.address, stream);
}

void FreeAllOf(const Context& context) {
  for (const Allocation& allocation : AllocationTable::Get().TakeAllOf(context)) ReturnMemory(allocation);
}

}  // namespace tutti::client
