// The driver's ABI: operations of a stream on words of memory. Included by cuda/types.h, which has the common part.
#pragma once

#include <cstdint>

namespace tutti::cuda {

enum : unsigned {
  CU_STREAM_WAIT_VALUE_GEQ = 0,
  CU_STREAM_WAIT_VALUE_EQ = 1,
  CU_STREAM_WAIT_VALUE_AND = 2,
  CU_STREAM_WAIT_VALUE_NOR = 3,
  CU_STREAM_WAIT_VALUE_FLUSH = 1u << 30,
};
enum : unsigned { CU_STREAM_WRITE_VALUE_DEFAULT = 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1 };
enum : unsigned { CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0, CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1 };
enum : int {
  CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
  CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
  CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
  CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
  CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
  CU_STREAM_MEM_OP_BARRIER = 6,
};

// The toolkit's union of a structure per operation; they all begin with `operation`.
union CUstreamBatchMemOpParams {
  int operation;
  struct {
    int operation;
    CUdeviceptr address;
    uint64_t value;  // 32-bit operations use the low half
    unsigned flags;
    CUdeviceptr alias;  // the driver's own
  } value;  // of waits and writes
  struct {
    int operation;
    unsigned flags;
  } fence;  // of flushes and barriers
  uint64_t pad[6];
};

struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned count;
  CUstreamBatchMemOpParams* paramArray;
  unsigned flags;
};

}  // namespace tutti::cuda
