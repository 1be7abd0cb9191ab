#include "client/copy/memory_operations.h"

#include <algorithm>
#include <atomic>

#include "client/base/complaint.h"
#include "client/copy/copy.h"
#include "client/copy/value_waits.h"
#include "client/memory/allocation_table.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

constexpr unsigned kComparisons = 3;  // bits of the flags

bool IsWait(const CUstreamBatchMemOpParams& o) {
  return o.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || o.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}
bool IsWrite(const CUstreamBatchMemOpParams& o) {
  return o.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || o.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}
uint32_t Bytes(const CUstreamBatchMemOpParams& o) {
  return o.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || o.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4;
}

int CheckWord(const CUstreamBatchMemOpParams& o) {
  const uint64_t address = o.value.address;
  const uint32_t bytes = Bytes(o);
  if (address % bytes != 0) {
    return Complain(CUDA_ERROR_INVALID_VALUE, "a stream waits for or writes a value of {} bits at {:#x}: misaligned",
                    8 * bytes, address);
  }
  CU_TRY(CheckSide({address, bytes, bytes}, {bytes, 1, 1}, SideKind::kDevice));
  const auto found = AllocationTable::Get().Find(address);
  if (found && found->kind == AllocationKind::kManaged) {
    return Complain(CUDA_ERROR_INVALID_VALUE,
                    "a stream waits for or writes a value in managed memory at {:#x}: use device memory, or pinned "
                    "memory (cuMemHostAlloc)",
                    address);
  }
  return CUDA_SUCCESS;
}

int Check(const CUstreamBatchMemOpParams& o, MemoryOperationApi api) {
  switch (o.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      if ((o.value.flags & ~(kComparisons | CU_STREAM_WAIT_VALUE_FLUSH)) != 0) return CUDA_ERROR_INVALID_VALUE;
      return CheckWord(o);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      if (o.value.flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return CUDA_ERROR_INVALID_VALUE;
      return CheckWord(o);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return o.fence.flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_BARRIER:
      if (api == MemoryOperationApi::kFirst) return CUDA_ERROR_NOT_SUPPORTED;
      return o.fence.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

int SubmitWait(Stream& stream, const CUstreamBatchMemOpParams& o) {
  CU_TRY(CheckWord(o));
  const ValueCondition condition{.address = o.value.address,
                                 .value = o.value.value,
                                 .bytes = Bytes(o),
                                 .comparison = o.value.flags & kComparisons};
  if (stream.Settled() && condition.Holds()) return CUDA_SUCCESS;
  return ValueWaits::Get().Submit(stream, condition);
}

template <typename Word>
void Store(uint64_t address, uint64_t value) {
  std::atomic_ref(*reinterpret_cast<Word*>(address)).store(static_cast<Word>(value), std::memory_order_release);
}

// In one store (Transfer sees to it), and where there is nothing to wait for, at once.
int SubmitWrite(Stream& stream, const CUstreamBatchMemOpParams& o) {
  CU_TRY(CheckWord(o));
  const auto& [operation, address, value, flags, alias] = o.value;
  const uint32_t bytes = Bytes(o);
  if (Attachment::Get().Reaches(address, bytes) && stream.Settled()) {
    bytes == 8 ? Store<uint64_t>(address, value) : Store<uint32_t>(address, value);
  } else {
    stream.Submit(
        wire::RecordKind::kFill,
        wire::FillBody{
            .destination = address, .width = 1, .height = 1, .pitch = bytes, .value = value, .element_bytes = bytes});
  }
  ValueWaits::Hurry();
  return CUDA_SUCCESS;
}

}  // namespace

int CheckMemoryOperations(std::span<const CUstreamBatchMemOpParams> operations, MemoryOperationApi api) {
  for (const CUstreamBatchMemOpParams& operation : operations) CU_TRY(Check(operation, api));
  return CUDA_SUCCESS;
}

int SubmitMemoryOperations(Stream& stream, std::span<const CUstreamBatchMemOpParams> operations) {
  for (const CUstreamBatchMemOpParams& operation : operations) {
    if (IsWait(operation)) CU_TRY(SubmitWait(stream, operation));
    if (IsWrite(operation)) CU_TRY(SubmitWrite(stream, operation));
  }
  return CUDA_SUCCESS;
}

bool SameKinds(std::span<const CUstreamBatchMemOpParams> first, std::span<const CUstreamBatchMemOpParams> second) {
  return std::ranges::equal(first, second, [](const auto& a, const auto& b) {
    if (a.operation != b.operation) return false;
    if (IsWait(a)) return ((a.value.flags ^ b.value.flags) & CU_STREAM_WAIT_VALUE_FLUSH) == 0;
    return IsWrite(a) ? a.value.flags == b.value.flags : a.fence.flags == b.fence.flags;
  });
}

}  // namespace tutti::client
