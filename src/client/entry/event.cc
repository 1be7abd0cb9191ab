// Events.
#include "client/context/event.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/stream.h"
#include "client/copy/shared_event.h"
#include "client/copy/value_waits.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"
#include "client/session/printing.h"

namespace tutti::client::entry {

CUresult cuEventCreate(CUevent* out, unsigned int flags) {
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (out == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  // As CUDA demands: times are not shared.
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  std::unique_ptr<SharedEvent> shared;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    CU_ASSIGN(shared, SharedEvent::Create(*context));
  }
  CU_ASSIGN(Event* const event, Event::Create(*context, flags, std::move(shared)));
  *out = event->handle();
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
  Event* event = Event::Find(handle);
  return event != nullptr ? Event::Destroy(event) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  Event* event = Event::Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CU_ASSIGN(Stream* const stream, StreamOf(stream_handle));
  if (!event->BelongsTo(stream->context())) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture() != nullptr) {
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) return Capture::Add(*stream, RecordWork{handle});
    return Capture::Record(*stream, *event);
  }
  return event->Record(*stream);
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }

CUresult cuEventQuery(CUevent handle) {
  Event* event = Event::Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Capture::Has(*event)) return CUDA_ERROR_CAPTURED_EVENT;
  CU_TRY(Capture::CheckUnsafe("cuEventQuery"));
  const CUresult reached = event->Query();
  if (reached == CUDA_ERROR_NOT_READY) {
    Attachment::Get().ring().Nudge();
    return reached;
  }
  return event->CheckDevice();
}

CUresult cuEventSynchronize(CUevent handle) {
  Event* event = Event::Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Capture::Has(*event)) return CUDA_ERROR_CAPTURED_EVENT;
  CU_TRY(Capture::CheckUnsafe("cuEventSynchronize"));
  ValueWaits::Hurry();
  CU_TRY(event->Synchronize());
  DrainPrints();
  return event->CheckDevice();
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  Event* from = Event::Find(start);
  Event* to = Event::Find(end);
  if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return milliseconds != nullptr ? Event::Elapsed(*from, *to, milliseconds) : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::client::entry
