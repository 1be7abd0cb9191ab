// Green contexts: contexts with some of a device's SMs that share everything else with its primary context. The handle
// of a green context is that of its context, so the API's conversions return the same word.
#include <algorithm>
#include <span>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/context/event.h"
#include "client/context/sm_resource.h"
#include "client/context/stream.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

CUgreenCtx GreenHandle(Context* context) { return reinterpret_cast<CUgreenCtx>(context); }

Answer<Context*> FindGreen(CUgreenCtx handle) {
  Context* const context = Context::Find(handle);
  if (context == nullptr || !context->green()) return Refuse(CUDA_ERROR_INVALID_CONTEXT);
  return context;
}

CUresult StoreResource(CUdevResource* out, CUdevResourceType type, SmResource resource) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  resource.Write(out);
  return CUDA_SUCCESS;
}

SmResource ResourceOf(const Context& context) {
  return {.device = Device::Find(context.device().ordinal()), .count = context.sm_count()};
}

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* out, CUdevResourceType type) {
  Device* const device = Device::Find(ordinal);
  return device != nullptr ? StoreResource(out, type, SmResource::Of(*device)) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* out, CUdevResourceType type) {
  const Context* const context = Context::Find(handle != nullptr ? static_cast<void*>(handle) : current_context);
  return context != nullptr ? StoreResource(out, type, ResourceOf(*context)) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* out, CUdevResourceType type) {
  CU_ASSIGN(Context* const context, FindGreen(handle));
  return StoreResource(out, type, ResourceOf(*context));
}

// Without `results` only their number is returned. `remaining` gets the SMs left over, if any.
CUresult cuDevSmResourceSplitByCount(CUdevResource* results, unsigned int* count, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned int, unsigned int least_sms) {
  if (count == nullptr || input == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const SmResource whole, SmResource::Read(*input));
  const uint32_t group = whole.device->info().sm_group;
  const uint32_t each = (std::max(1u, least_sms) + group - 1) / group * group;
  if (each > whole.count) {
    return Complain(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "groups of {} SMs out of {}: there is not even one",
                    each, whole.count);
  }
  const uint32_t groups = results != nullptr ? std::min(*count, whole.count / each) : whole.count / each;
  *count = groups;
  if (results == nullptr) return CUDA_SUCCESS;
  SmResource next{.device = whole.device, .first_sm = whole.first_sm, .count = each};
  for (CUdevResource& result : std::span(results, groups)) {
    next.Write(&result);
    next.first_sm += each;
  }
  next.count = whole.count - groups * each;
  if (remaining != nullptr) next.Write(remaining);
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources, unsigned int count) {
  if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(SmResource joined, SmResource::Read(resources[0]));
  for (const CUdevResource& more : std::span(resources + 1, count - 1)) {
    CU_ASSIGN(const SmResource next, SmResource::Read(more));
    if (next.device != joined.device || next.first_sm != joined.first_sm + joined.count)
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;  // must be contiguous, as a split returns them
    joined.count += next.count;
  }
  ResourceDescription* const description = ResourceDescription::Create(joined);
  if (description == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = description->handle();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc handle, CUdevice ordinal, unsigned int flags) {
  Device* const device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const ResourceDescription* const description = ResourceDescription::Find(handle);
  if (out == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM || description == nullptr ||
      description->joined().device != device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CU_TRY(device->primary().Retain());
  auto context = Context::Create(*device, {.sms = description->joined().count, .green = true});
  if (!context) {
    device->primary().Release();
    return context.error();
  }
  *out = GreenHandle(*context);
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  CU_ASSIGN(Context* const context, FindGreen(handle));
  Device& device = context->device();
  CU_TRY(Context::Destroy(context));
  if (current_context == context) PopCurrent();
  return device.primary().Release();
}

CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, FindGreen(handle));
  *out = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, FindGreen(handle));
  *id = context->id();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  CU_ASSIGN(Context* const context, FindGreen(handle));
  return cuCtxRecordEvent(context->handle(), event);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  CU_ASSIGN(Context* const context, FindGreen(handle));
  return cuCtxWaitEvent(context->handle(), event);
}

CUresult cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx handle, unsigned int flags, int priority) {
  if (out == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, FindGreen(handle));
  CU_TRY(context->Check());
  Stream* const stream = Stream::Create(
      *context, {.non_blocking = true, .priority = std::clamp(priority, context->device().info().most_urgent, 0)});
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = stream->handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  *out = stream->context().green() ? GreenHandle(&stream->context()) : nullptr;
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
