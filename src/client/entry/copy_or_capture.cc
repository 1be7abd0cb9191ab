#include "client/entry/copy_or_capture.h"

#include "client/graph/capture.h"

namespace tutti::client::entry {

int CopyOrCapture(Stream& stream, const CopyRequest& request, CopyMode mode, SideKind destination, SideKind source) {
  if (stream.capture() == nullptr) [[likely]]
    return Copy(stream, request, mode, destination, source);
  CU_TRY(CheckSide(request.destination, request.shape, destination));
  CU_TRY(CheckSide(request.source, request.shape, source));
  if (mode == CopyMode::kSynchronous) return Capture::Break(stream, "a synchronous copy");
  return request.shape.empty() ? cuda::CUDA_SUCCESS : Capture::Add(stream, MakeCopyWork(request));
}

int FillOrCapture(Stream& stream, const FillRequest& request, CopyMode mode) {
  if (stream.capture() == nullptr) [[likely]]
    return Fill(stream, request, mode);
  CU_ASSIGN(const CopyShape shape, CheckFill(request));
  if (shape.empty()) return cuda::CUDA_SUCCESS;
  if (mode == CopyMode::kSynchronous) return Capture::Break(stream, "a synchronous memset");
  return Capture::Add(stream, FillWork{request});
}

}  // namespace tutti::client::entry
