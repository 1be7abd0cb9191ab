// Operations of streams on words of memory.
#include <span>

#include "client/context/context.h"
#include "client/copy/memory_operations.h"
#include "client/entry/called_stream.h"
#include "client/entry/entries.h"
#include "client/graph/capture.h"

namespace tutti::client::entry {
namespace {

CUresult Do(CUstream handle, std::span<const CUstreamBatchMemOpParams> operations, MemoryOperationApi api) {
  CU_ASSIGN(Stream* const stream, StreamOf(handle));
  CU_TRY(CheckMemoryOperations(operations, api));
  if (stream->capture() == nullptr) return SubmitMemoryOperations(*stream, operations);
  if (operations.empty()) return CUDA_SUCCESS;
  return Capture::Add(
      *stream, MemoryWork{.context = stream->context().handle(), .operations{operations.begin(), operations.end()}});
}

CUresult DoOne(CUstream handle, int operation, CUdeviceptr address, uint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams one{.pad = {}};
  one.value = {.operation = operation, .address = address, .value = value, .flags = flags, .alias = 0};
  return Do(handle, {&one, 1}, MemoryOperationApi::kSecond);
}

CUresult DoMany(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations, unsigned flags,
                MemoryOperationApi api) {
  if (count > kMostMemoryOperations || (count != 0 && operations == nullptr) || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return Do(handle, {operations, count}, api);
}

}  // namespace

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags) {
  return DoOne(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags) {
  return DoOne(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags) {
  return DoOne(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags) {
  return DoOne(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                            unsigned int flags) {
  return DoMany(stream, count, operations, flags, MemoryOperationApi::kFirst);
}
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                               unsigned int flags) {
  return DoMany(stream, count, operations, flags, MemoryOperationApi::kSecond);
}

}  // namespace tutti::client::entry
