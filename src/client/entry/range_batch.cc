// Batches of hints about ranges of memory: prefetched, discarded. Managed memory has one location that every device
// reaches, so they are checked, and have no effect: what was discarded may be read as anything, also as what it was.
#include <span>

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/entry/batch_runs.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/memory/allocation_table.h"

namespace tutti::client::entry {
namespace {

CUresult CheckRanges(const CUdeviceptr* addresses, const size_t* sizes, size_t count, unsigned long long flags,
                     CUstream handle) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  if (stream->legacy() || flags != 0 || count == 0 || addresses == nullptr || sizes == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (!AllocationTable::Get().Covers(addresses[i], sizes[i]))
      return Complain(CUDA_ERROR_INVALID_VALUE, "range {} of a batch, {} bytes at {:#x}, is in no allocation", i,
                      sizes[i], addresses[i]);
  }
  return CUDA_SUCCESS;
}

CUresult CheckLocations(const CUmemLocation* locations, const BatchRuns& runs, size_t count) {
  if (locations == nullptr || !runs.valid()) return CUDA_ERROR_INVALID_VALUE;
  for (const CUmemLocation& location : std::span(locations, count)) {
    if (location.type < CU_MEM_LOCATION_TYPE_DEVICE || location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                                 size_t* starts, size_t runs, unsigned long long flags, CUstream stream) {
  CU_TRY(CheckLocations(locations, {starts, runs, count}, runs));
  return CheckRanges(addresses, sizes, count, flags, stream);
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream stream) {
  return CheckRanges(addresses, sizes, count, flags, stream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* starts, size_t runs,
                                           unsigned long long flags, CUstream stream) {
  return cuMemPrefetchBatchAsync(addresses, sizes, count, locations, starts, runs, flags, stream);
}

}  // namespace tutti::client::entry
