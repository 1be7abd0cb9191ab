// Batches of copies: checked as a whole, then submitted one by one. Nothing of a batch that is refused is copied.
//
// A batch may be done in any order, so in this one. Where the memory lies is a hint, and there is one place for all.
#include <limits>
#include <span>
#include <vector>

#include "client/array/copy_description.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/entry/batch_runs.h"
#include "client/entry/called_stream.h"
#include "client/entry/copy_or_capture.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {
namespace {

// What failIdx says if an error is of no single copy.
constexpr size_t kNoCopy = std::numeric_limits<size_t>::max();

struct BatchedCopy {
  DescribedCopy copy;
  CopyMode mode;
};

// How the copy of index `i` reads its source.
Answer<CopyMode> ModeOf(size_t i, int source_order, unsigned flags) {
  if ((flags & ~CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) != 0)
    return Refuse(Complain(CUDA_ERROR_INVALID_VALUE, "copy {} of a batch has the unknown flags {:#x}", i, flags));
  switch (source_order) {
    case CU_MEMCPY_SRC_ACCESS_ORDER_STREAM:
    case CU_MEMCPY_SRC_ACCESS_ORDER_ANY: return CopyMode::kAsynchronous;
    case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL: return CopyMode::kSourceNow;
    default:
      return Refuse(
          Complain(CUDA_ERROR_INVALID_VALUE, "copy {} of a batch has the source access order {}", i, source_order));
  }
}

// `describe` makes copy `i` of the batch. `fail_index` may be null.
template <typename Describe>
CUresult CopyAll(CUstream handle, size_t count, size_t* fail_index, Describe describe) {
  const auto failed = [fail_index](size_t i, CUresult result) {
    if (fail_index != nullptr) *fail_index = i;
    return result;
  };
  const auto stream = StreamOf(handle);
  if (!stream) return failed(kNoCopy, stream.error());
  if ((*stream)->legacy())
    return failed(kNoCopy, Complain(CUDA_ERROR_INVALID_VALUE, "a batch of copies in the legacy default stream"));
  std::vector<BatchedCopy> copies;
  for (size_t i = 0; i < count; ++i) {
    const Answer<BatchedCopy> described = describe(i);
    if (!described) return failed(i, described.error());
    const DescribedCopy& copy = described->copy;
    if (const int bad = CheckSide(copy.request.destination, copy.request.shape, copy.destination))
      return failed(i, bad);
    if (const int bad = CheckSide(copy.request.source, copy.request.shape, copy.source)) return failed(i, bad);
    copies.push_back(*described);
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    const auto& [copy, mode] = copies[i];
    if (const int bad = CopyOrCapture(**stream, copy.request, mode, copy.destination, copy.source))
      return failed(i, bad);
  }
  return CUDA_SUCCESS;
}

CUresult CopyLines(const CUdeviceptr* to, const CUdeviceptr* from, const size_t* sizes, size_t count,
                   const CUmemcpyAttributes* attributes, const size_t* starts, size_t runs, size_t* fail_index,
                   CUstream stream) {
  const BatchRuns which(starts, runs, count);
  if (to == nullptr || from == nullptr || sizes == nullptr || attributes == nullptr || !which.valid()) {
    if (fail_index != nullptr) *fail_index = kNoCopy;
    return Complain(CUDA_ERROR_INVALID_VALUE, "a batch of {} copies with {} attributes: one of its arrays is wrong",
                    count, runs);
  }
  size_t run = 0;
  return CopyAll(stream, count, fail_index, [&](size_t i) -> Answer<BatchedCopy> {
    run = which.RunOf(i, run);
    CU_ASSIGN_OR_REFUSE(const CopyMode mode, ModeOf(i, attributes[run].srcAccessOrder, attributes[run].flags));
    return BatchedCopy{{.request = Linear(to[i], from[i], sizes[i])}, mode};
  });
}

CUresult CopyBoxes(size_t count, const CUDA_MEMCPY3D_BATCH_OP* operations, size_t* fail_index, unsigned long long flags,
                   CUstream stream) {
  if (count == 0 || operations == nullptr || flags != 0) {
    if (fail_index != nullptr) *fail_index = kNoCopy;
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CopyAll(stream, count, fail_index, [&](size_t i) -> Answer<BatchedCopy> {
    CU_ASSIGN_OR_REFUSE(const CopyMode mode, ModeOf(i, operations[i].srcAccessOrder, operations[i].flags));
    CU_ASSIGN_OR_REFUSE(const DescribedCopy copy, Describe(operations[i]));
    return BatchedCopy{copy, mode};
  });
}

}  // namespace

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* starts, size_t runs, size_t* fail_index,
                            CUstream stream) {
  return CopyLines(to, from, sizes, count, attributes, starts, runs, fail_index, stream);
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* starts, size_t runs, CUstream stream) {
  return CopyLines(to, from, sizes, count, attributes, starts, runs, nullptr, stream);
}
CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* fail_index,
                              unsigned long long flags, CUstream stream) {
  return CopyBoxes(count, operations, fail_index, flags, stream);
}
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                                 CUstream stream) {
  return CopyBoxes(count, operations, nullptr, flags, stream);
}

}  // namespace tutti::client::entry
