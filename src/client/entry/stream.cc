// Streams.
#include "client/context/stream.h"

#include <algorithm>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/event.h"
#include "client/copy/host_calls.h"
#include "client/copy/value_waits.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"
#include "client/session/printing.h"

namespace tutti::client::entry {
namespace {

template <typename T>
CUresult StoreValue(T* out, const T& value) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned int flags, int priority) {
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  const StreamOptions options{.non_blocking = flags == CU_STREAM_NON_BLOCKING,
                              .priority = std::clamp(priority, context->device().info().most_urgent, 0)};
  Stream* stream = Stream::Create(*context, options);
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = stream->handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* out, unsigned int flags) { return cuStreamCreateWithPriority(out, flags, 0); }

CUresult cuStreamDestroy_v2(CUstream handle) {
  Stream* stream = Stream::Find(handle);
  if (stream == nullptr || stream->legacy() || stream->per_thread()) return CUDA_ERROR_INVALID_HANDLE;
  Stream::Destroy(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (stream->capture() != nullptr) return Capture::Break(*stream, "cuStreamQuery");
  const bool done = stream->legacy() ? stream->Settled() : stream->Idle();
  if (done) return stream->context().Check();
  Attachment::Get().ring().Nudge();
  return CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (stream->capture() != nullptr) return Capture::Break(*stream, "cuStreamSynchronize");
  ValueWaits::Hurry();
  CU_TRY(stream->legacy() ? stream->Settle() : stream->LastMark().Wait());
  DrainPrints();
  return stream->context().Check();
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  Event* event = Event::Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture() != nullptr && (flags & CU_EVENT_WAIT_EXTERNAL) != 0)
    return Capture::Add(*stream, WaitWork{event_handle});
  bool captured = false;
  CU_TRY(Capture::Wait(*stream, *event, &captured));
  return captured ? CUDA_SUCCESS : event->MakeWait(*stream);
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* user, unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (stream->capture() != nullptr) return Capture::Break(*stream, "cuStreamAddCallback");
  return SubmitCallback(*stream, handle, callback, user);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* user) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (stream->capture() != nullptr) return Capture::Add(*stream, HostWork{function, user});
  return SubmitHostFunction(*stream, function, user);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  return StoreValue(context, stream->context().owner().handle());
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  CU_TRY(cuStreamGetGreenCtx(handle, green));
  if (*green == nullptr) return cuStreamGetCtx(handle, context);
  return StoreValue(context, CUcontext{nullptr});
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  return StoreValue(device, stream->context().device().ordinal());
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  return StoreValue(flags, stream->flags());
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  return StoreValue(priority, stream->priority());
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  return StoreValue(id, static_cast<unsigned long long>(stream->id()));
}

// Priority is the only stream attribute with an effect; the others are cache hints, which are accepted.
CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  *value = {};
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->number = stream->priority();
  if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->number = 1;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  if (value == nullptr || attribute <= 0 || attribute > CU_LAUNCH_ATTRIBUTE_LAST) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle, StreamUse::kAsk));
  static_cast<void>(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream destination, CUstream source) {
  CU_ASSIGN(Stream* const to, StreamOf(destination, StreamUse::kAsk));
  CU_ASSIGN(Stream* const from, StreamOf(source, StreamUse::kAsk));
  return &to->context() == &from->context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// Managed memory is visible to all streams, so there is nothing to attach.
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned int flags) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  static_cast<void>(stream);
  const bool known = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
  return known && address != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::client::entry
