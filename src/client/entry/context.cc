// Contexts.
#include "client/context/context.h"

#include <span>

#include "client/context/current.h"
#include "client/context/device.h"
#include "client/context/event.h"
#include "client/context/stream.h"
#include "client/copy/value_waits.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"

namespace tutti::client::entry {
namespace {

constexpr unsigned kApiVersion = 3020;     // of contexts made by cuCtxCreate and cuCtxCreate_v2
constexpr unsigned kApiVersionNew = 4000;  // by the later forms

// The SMs that a list of affinities requests; the last entry wins.
Answer<uint32_t> AffineSms(const CUexecAffinityParam* affinities, int count) {
  if (count < 0 || (count != 0 && affinities == nullptr)) return Refuse(CUDA_ERROR_INVALID_VALUE);
  uint32_t sms = 0;
  for (const CUexecAffinityParam& affinity : std::span(affinities, static_cast<size_t>(count))) {
    if (affinity.type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return Refuse(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    if (affinity.sm_count == 0) return Refuse(CUDA_ERROR_INVALID_VALUE);
    sms = affinity.sm_count;
  }
  return sms;
}

CUresult Create(CUcontext* out, unsigned flags, CUdevice ordinal, unsigned api_version, uint32_t sms = 0) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr || (flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, Context::Create(*device, {.flags = flags, .api_version = api_version, .sms = sms}));
  PushCurrent(context);
  *out = context->handle();
  return CUDA_SUCCESS;
}

// The context of a handle; the current one for null.
Answer<Context*> NamedOrCurrent(CUcontext handle) {
  if (handle == nullptr) return CurrentContext();
  Context* context = Context::Find(handle);
  return context != nullptr ? Answer<Context*>(context) : Refuse(CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice device) {
  return Create(out, flags, device, kApiVersion);
}

CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinities, int count, unsigned int flags,
                        CUdevice device) {
  CU_ASSIGN(const uint32_t sms, AffineSms(affinities, count));
  return Create(out, flags, device, kApiVersionNew, sms);
}

CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters, unsigned int flags, CUdevice device) {
  if (parameters == nullptr) return Create(out, flags, device, kApiVersionNew);
  CU_ASSIGN(const uint32_t sms, AffineSms(parameters->execAffinityParams, parameters->numExecAffinityParams));
  return Create(out, flags, device, kApiVersionNew, sms);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  if (affinity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  CU_ASSIGN(Context* const context, CurrentContext());
  *affinity = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .sm_count = context->sm_count()};
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  Context* context = Context::Find(handle);
  if (context == nullptr || context->green()) return CUDA_ERROR_INVALID_CONTEXT;
  CU_TRY(Context::Destroy(context));
  if (current_context == context) PopCurrent();
  return CUDA_SUCCESS;
}

CUresult cuCtxAttach(CUcontext* out, unsigned int flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, CurrentContext());
  CU_TRY(context->Attach());
  *out = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle) {
  Context* const context = Context::Find(handle);
  if (context == nullptr || context->green() || context != current_context) return CUDA_ERROR_INVALID_CONTEXT;
  CU_TRY(Context::Detach(context));
  if (Context::Find(handle) == nullptr) PopCurrent();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  PushCurrent(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  Context* context = PopCurrent();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  if (handle == nullptr) {
    PopCurrent();
    return CUDA_SUCCESS;
  }
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  SetCurrent(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = Context::Find(current_context);
  *out = context != nullptr ? context->handle() : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  *device = context->device().ordinal();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  CU_TRY(Capture::CheckWaitForAll(*context, "cuCtxSynchronize"));
  ValueWaits::Hurry();
  return context->Synchronize();
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  *id = context->id();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  *version = context->primary() ? kApiVersion : context->api_version();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, CurrentContext());
  *flags = context->flags();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, CurrentContext());
  context->SetFlags(flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  return context->GetLimit(limit, value) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  CU_ASSIGN(Context* const context, UsableContext());
  return context->SetLimit(limit, value) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  *config = context->cache_config;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  if (config < 0 || config > 3) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  context->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  *config = context->shared_config;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  if (config < 0 || config > 2) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  context->shared_config = config;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  CU_ASSIGN(Context* const context, UsableContext());
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = context->device().info().most_urgent;
  return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

// The event is reached when everything submitted to the context so far is.
CUresult cuCtxRecordEvent(CUcontext handle, CUevent event_handle) {
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  Event* event = Event::Find(event_handle);
  if (event == nullptr || !event->BelongsTo(*context)) return CUDA_ERROR_INVALID_HANDLE;
  CU_TRY(context->Check());
  return event->Record(*context->legacy());
}

CUresult cuCtxWaitEvent(CUcontext handle, CUevent event_handle) {
  CU_ASSIGN(Context* const context, NamedOrCurrent(handle));
  Event* event = Event::Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_TRY(context->Check());
  return event->MakeWait(*context->legacy());
}

}  // namespace tutti::client::entry
