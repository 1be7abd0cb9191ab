// Occupancy.
#include "client/module/occupancy.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/module/launch.h"
#include "cuda/device_attribute.h"

namespace tutti::client::entry {
namespace {

constexpr int kLargestCluster = 1;

Answer<Function*> Resolve(CUfunction handle) {
  CU_ASSIGN_OR_REFUSE(Context* const context, UsableContext());
  return ResolveFunction(handle, *context);
}

}  // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int block_size,
                                                              size_t shared_bytes, unsigned int flags) {
  if (blocks == nullptr || block_size <= 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  *blocks = BlocksPerSm(*function, block_size, shared_bytes);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                     size_t shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, size_t shared_bytes, int limit,
                                                   unsigned int flags) {
  if (min_grid == nullptr || block == nullptr || limit < 0 || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  const BlockSuggestion best = SuggestBlock(*function, shared_of, shared_bytes, limit);
  *min_grid = best.min_grid;
  *block = best.block;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* min_grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                                          size_t shared_bytes, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, function, shared_of, shared_bytes, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int block_size) {
  if (bytes == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  *bytes = AvailableShared(*function, blocks, block_size);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle, const CUlaunchConfig* config) {
  if (size == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  static_cast<void>(function);
  *size = kLargestCluster;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  uint32_t cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& a = config->attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = a.value.clusterDim.x * a.value.clusterDim.y * a.value.clusterDim.z;
  }
  if (cluster == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  const int per_sm = threads <= 1024 ? BlocksPerSm(*function, static_cast<int>(threads), config->sharedMemBytes) : 0;
  const int sms = function->context().device().Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  *clusters = static_cast<int>(static_cast<uint32_t>(per_sm * sms) / cluster);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
