// Copies in two and three dimensions, between any of host memory, device memory and arrays.
#include "client/array/copy_description.h"
#include "client/context/context.h"
#include "client/entry/called_stream.h"
#include "client/entry/copy_or_capture.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

template <typename Description>
CUresult CopyDescribed(const Description* description, CUstream handle, CopyMode mode) {
  if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  CU_ASSIGN(const DescribedCopy copy, Describe(*description));
  if (copy.request.shape.empty()) return CUDA_SUCCESS;
  return CopyOrCapture(*stream, copy.request, mode, copy.destination, copy.source);
}

constexpr auto kSync = CopyMode::kSynchronous;
constexpr auto kAsync = CopyMode::kAsynchronous;

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return CopyDescribed(copy, nullptr, kSync); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return CopyDescribed(copy, nullptr, kSync); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return CopyDescribed(copy, stream, kAsync); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return CopyDescribed(copy, nullptr, kSync); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) { return CopyDescribed(copy, stream, kAsync); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return CopyDescribed(copy, nullptr, kSync); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return CopyDescribed(copy, stream, kAsync);
}

}  // namespace tutti::client::entry
