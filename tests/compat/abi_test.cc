// Compares our headers with the toolkit's: every structure we read or write has the same size and members at the same
// offsets, every constant has the toolkit's value, and every function of the API table takes the same parameters.
// clang-format off: ours first, since the toolkit's header makes macros of some of its names
#include "cuda/types.h"
#include "cuda/device_attribute.h"
#define __CUDA_API_VERSION_INTERNAL 1  // superseded versions, too
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cudaProfilerTypedefs.h>
// clang-format on
#include <gtest/gtest.h>

#include <cstddef>

// The types of our functions, by symbol, and the toolkit's of the same name and version.
namespace tutti::cuda {
#define CU_ENTRY(symbol, name, version, class, body, types) using Ours_##symbol = CUresult(*) types;
#include "cuda/api.def"
}  // namespace tutti::cuda
#define CU_ENTRY(symbol, name, version, class, body, types) using Theirs_##symbol = PFN_##name##_v##version;
#include "cuda/api.def"

namespace {

// Whether two functions take as many parameters of the same sizes in the same order.
template <typename... A, typename... B>
constexpr bool SameShape(int (*)(A...), CUresult (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return ((sizeof(A) == sizeof(B)) && ...);  // NOLINT(bugprone-sizeof-expression): of pointers, too
  } else {
    return false;
  }
}
#define CU_ENTRY(symbol, name, version, class, body, types) \
  static_assert(SameShape(tutti::cuda::Ours_##symbol{}, Theirs_##symbol{}), #symbol);
#include "cuda/api.def"

namespace ours = tutti::cuda;

#define SAME_SIZE(type) static_assert(sizeof(type) == sizeof(ours::type))
#define SAME_PLACE(type, member) static_assert(offsetof(type, member) == offsetof(ours::type, member))
SAME_SIZE(CUdeviceptr);
SAME_SIZE(CUdevice);
SAME_SIZE(CUuuid);
SAME_SIZE(CUdevprop);
SAME_SIZE(CUDA_MEMCPY2D);
SAME_PLACE(CUDA_MEMCPY2D, srcArray);
SAME_PLACE(CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(CUDA_MEMCPY2D, Height);
SAME_SIZE(CUDA_MEMCPY3D);
SAME_PLACE(CUDA_MEMCPY3D, srcHeight);
SAME_PLACE(CUDA_MEMCPY3D, dstHost);
SAME_PLACE(CUDA_MEMCPY3D, Depth);
SAME_SIZE(CUDA_MEMCPY3D_PEER);
SAME_PLACE(CUDA_MEMCPY3D_PEER, dstContext);
SAME_SIZE(CUDA_ARRAY_DESCRIPTOR);
SAME_PLACE(CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(CUDA_RESOURCE_DESC);
SAME_PLACE(CUDA_RESOURCE_DESC, flags);
SAME_SIZE(CUDA_TEXTURE_DESC);
SAME_PLACE(CUDA_TEXTURE_DESC, borderColor);
SAME_SIZE(CUtensorMap);
SAME_SIZE(CUDA_RESOURCE_VIEW_DESC);
SAME_PLACE(CUDA_RESOURCE_VIEW_DESC, firstLayer);
SAME_SIZE(CUmemLocation);
SAME_SIZE(CUmemAllocationProp);
SAME_PLACE(CUmemAllocationProp, allocFlags);
SAME_SIZE(CUmemPoolProps);
SAME_PLACE(CUmemPoolProps, maxSize);
SAME_SIZE(CUmemAccessDesc);
SAME_SIZE(CUexecAffinityParam);
SAME_SIZE(CUctxCreateParams);
SAME_SIZE(CUdevResource);
SAME_PLACE(CUdevResource, sm);
SAME_SIZE(CUdevSmResource);
SAME_SIZE(CUlaunchAttributeValue);
SAME_SIZE(CUlaunchAttribute);
SAME_PLACE(CUlaunchAttribute, value);
SAME_SIZE(CUlaunchConfig);
SAME_SIZE(CUgraphEdgeData);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS_v1);
SAME_SIZE(CUDA_KERNEL_NODE_PARAMS);
SAME_SIZE(CUDA_MEMSET_NODE_PARAMS);
SAME_SIZE(CUDA_HOST_NODE_PARAMS);
SAME_SIZE(CUgraphNodeParams);
SAME_SIZE(CUstreamBatchMemOpParams);
static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.address) ==
              offsetof(ours::CUstreamBatchMemOpParams, value.address));
static_assert(offsetof(CUstreamBatchMemOpParams, waitValue.value) ==
              offsetof(ours::CUstreamBatchMemOpParams, value.value));
static_assert(offsetof(CUstreamBatchMemOpParams, writeValue.flags) ==
              offsetof(ours::CUstreamBatchMemOpParams, value.flags));
static_assert(offsetof(CUstreamBatchMemOpParams, memoryBarrier.flags) ==
              offsetof(ours::CUstreamBatchMemOpParams, fence.flags));
SAME_SIZE(CUDA_BATCH_MEM_OP_NODE_PARAMS);
SAME_PLACE(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
SAME_SIZE(CUmemcpyAttributes);
SAME_PLACE(CUmemcpyAttributes, flags);
SAME_SIZE(CUmemcpy3DOperand);
SAME_PLACE(CUmemcpy3DOperand, op.ptr.layerHeight);
SAME_PLACE(CUmemcpy3DOperand, op.array.offset);
SAME_SIZE(CUDA_MEMCPY3D_BATCH_OP);
SAME_PLACE(CUDA_MEMCPY3D_BATCH_OP, extent);
SAME_PLACE(CUDA_MEMCPY3D_BATCH_OP, flags);
SAME_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_PLACE(CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_PLACE(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(CUgraphExecUpdateResultInfo);
SAME_PLACE(CUlaunchConfig, hStream);
SAME_PLACE(CUlaunchConfig, numAttrs);

#define SAME_NUMBER(name) static_assert(static_cast<long long>(::name) == static_cast<long long>(ours::name))
SAME_NUMBER(CU_MEMORYTYPE_UNIFIED);
SAME_NUMBER(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
SAME_NUMBER(CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
SAME_NUMBER(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
SAME_NUMBER(CU_MEMCPY_OPERAND_TYPE_ARRAY);
SAME_NUMBER(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
SAME_NUMBER(CU_AD_FORMAT_FLOAT);
SAME_NUMBER(CU_AD_FORMAT_SIGNED_INT32);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
SAME_NUMBER(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE);
SAME_NUMBER(CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
SAME_NUMBER(CU_JIT_MAX_REGISTERS);
SAME_NUMBER(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(CU_JIT_INPUT_FATBINARY);
SAME_NUMBER(CU_LIBRARY_BINARY_IS_PRESERVED);
SAME_NUMBER(CU_MODULE_LAZY_LOADING);
SAME_NUMBER(CU_CTX_FLAGS_MASK);
SAME_NUMBER(CU_STREAM_NON_BLOCKING);
SAME_NUMBER(CU_EVENT_INTERPROCESS);
SAME_NUMBER(CU_MEM_ATTACH_SINGLE);
SAME_NUMBER(CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME_NUMBER(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME_NUMBER(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
SAME_NUMBER(CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_NUMBER(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
SAME_NUMBER(CU_STREAM_WAIT_VALUE_NOR);
SAME_NUMBER(CU_STREAM_WAIT_VALUE_FLUSH);
SAME_NUMBER(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
SAME_NUMBER(CU_STREAM_MEMORY_BARRIER_TYPE_GPU);
SAME_NUMBER(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
SAME_NUMBER(CU_STREAM_MEM_OP_WRITE_VALUE_64);
SAME_NUMBER(CU_STREAM_MEM_OP_BARRIER);
SAME_NUMBER(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
SAME_NUMBER(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
SAME_NUMBER(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
SAME_NUMBER(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
SAME_NUMBER(CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_NUMBER(CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_NUMBER(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
SAME_NUMBER(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);

TEST(Abi, ResultsHaveTheToolkitsNumbers) {
#define X(name, value) EXPECT_EQ(static_cast<int>(::name), value) << #name;
#include "cuda/result.def"
#undef X
}

TEST(Abi, DeviceAttributesHaveTheToolkitsNumbers) {
#define X(name, value) EXPECT_EQ(static_cast<int>(::CU_DEVICE_ATTRIBUTE_##name), value) << #name;
#include "cuda/device_attribute.def"
#undef X
}

}  // namespace
