#include "client/memory/ipc_memory.h"

#include <algorithm>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/memory/memory.h"
#include "client/memory/stray_access.h"
#include "client/session/attachment.h"
#include "cuda/result.h"

namespace tutti::client {

IpcMemory& IpcMemory::Get() {
  static auto* const instance = new IpcMemory;
  return *instance;
}

void IpcMemory::StartAgain() {
  std::lock_guard lock(mutex_);
  opened_.clear();
}

Answer<wire::ExportedMemory> IpcMemory::Export(uint64_t address, AllocationKind kind) {
  const auto found = AllocationTable::Get().Find(address);
  if (!found || found->kind != kind) {
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_VALUE,
                           "{:#x} is not in memory that can be shared this way (cuIpcGetMemHandle: of cuMemAlloc; "
                           "cuMemPoolExportPointer: of a pool)",
                           address));
  }
  return ExportMemory(found->address);
}

Answer<uint64_t> IpcMemory::Open(Context& context, const wire::ExportedMemory& name) {
  std::lock_guard lock(mutex_);
  if (const auto known = opened_.find(name.id); known != opened_.end()) {
    ++known->second.times;
    return known->second.address;
  }
  CU_ASSIGN_OR_REFUSE(const uint64_t address, Map(context, name));
  opened_.emplace(name.id, Opened{.address = address, .times = 1});
  return address;
}

// The mapping keeps what it shows, so the import itself is not needed any more.
Answer<uint64_t> IpcMemory::Map(Context& context, const wire::ExportedMemory& name) {
  CU_ASSIGN_OR_REFUSE(const ImportedMemory imported, ImportMemory(name));
  struct Drop {
    uint64_t number;
    ~Drop() { DropImport(number); }
  } const drop{imported.number};
  if (imported.own) {
    return Refuse(Complain(cuda::CUDA_ERROR_INVALID_CONTEXT,
                           "cuIpcOpenMemHandle in the process that made the handle: use its own pointer"));
  }
  CU_ASSIGN_OR_REFUSE(const uint64_t address,
                      AskForMemory(context, wire::MemoryKind::kAddresses, imported.bytes, wire::kReservedAlignment));
  int status =
      MapMemory(address, imported.bytes, wire::MapAccess::kReadWrite, wire::MapSource::kImported, imported.number);
  const Allocation allocation{.address = address,
                              .bytes = imported.bytes,
                              .kind = AllocationKind::kImported,
                              .context = &context.owner(),
                              .device_address = address,
                              .freed = [](const Allocation& freed) { Get().Forget(freed.address); }};
  if (status == 0 && !AllocationTable::Get().Insert(allocation)) status = cuda::CUDA_ERROR_MPS_RPC_FAILURE;
  if (status != 0) {
    ReleaseMemory(address);
    return Refuse(status == cuda::CUDA_ERROR_OUT_OF_MEMORY ? cuda::CUDA_ERROR_MAP_FAILED : status);
  }
  ReportStrayAccesses();
  return address;
}

int IpcMemory::Close(uint64_t address) {
  {
    std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(opened_, address, [](const auto& entry) { return entry.second.address; });
    if (known == opened_.end()) return cuda::CUDA_ERROR_INVALID_VALUE;
    if (--known->second.times != 0) return cuda::CUDA_SUCCESS;
    opened_.erase(known);
  }
  const auto taken =
      AllocationTable::Get().Take(address, [](const Allocation& a) { return a.kind == AllocationKind::kImported; });
  if (taken) ReturnMemory(*taken);
  return cuda::CUDA_SUCCESS;
}

// Also when its context has been destroyed before it was closed.
void IpcMemory::Forget(uint64_t address) {
  std::lock_guard lock(mutex_);
  std::erase_if(opened_, [address](const auto& entry) { return entry.second.address == address; });
}

}  // namespace tutti::client
