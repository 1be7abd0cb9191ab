// Memory and events of other processes, by handles of 64 bytes.
#include <cstring>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/event.h"
#include "client/copy/shared_event.h"
#include "client/entry/entries.h"
#include "client/memory/ipc_memory.h"

namespace tutti::client::entry {
namespace {

template <typename Handle>
void Write(Handle* out, wire::ShareKind kind, const wire::ExportedMemory& memory) {
  static_assert(sizeof(Handle) == sizeof(wire::ShareHandle));
  const wire::ShareHandle handle{.kind = kind, .memory = memory};
  std::memcpy(out, &handle, sizeof handle);
}

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const wire::ExportedMemory memory, IpcMemory::Get().Export(address, AllocationKind::kDevice));
  Write(out, wire::ShareKind::kMemory, memory);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle bytes, unsigned int flags) {
  constexpr unsigned kLazyPeerAccess = 1;  // all devices reach all memory
  if (out == nullptr || (flags & ~kLazyPeerAccess) != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(const wire::ShareHandle handle, CheckHandle(&bytes, wire::ShareKind::kMemory));
  CU_ASSIGN(*out, IpcMemory::Get().Open(*context, handle.memory));
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) { return IpcMemory::Get().Close(address); }

CUresult cuIpcGetEventHandle(CUipcEventHandle* out, CUevent handle) {
  const Event* const event = Event::Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const wire::ExportedMemory memory, event->Name());
  Write(out, wire::ShareKind::kEvent, memory);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle bytes) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(const wire::ShareHandle handle, CheckHandle(&bytes, wire::ShareKind::kEvent));
  CU_ASSIGN(std::unique_ptr<SharedEvent> shared, SharedEvent::Open(*context, handle.memory));
  CU_ASSIGN(Event* const event, Event::Create(*context, CU_EVENT_DISABLE_TIMING, std::move(shared)));
  *out = event->handle();
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
