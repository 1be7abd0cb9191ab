// Occupancy.
#include "client/module/occupancy.h"

#include <algorithm>
#include <span>

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"
#include "client/module/launch.h"
#include "cuda/device_attribute.h"

namespace tutti::client::entry {
namespace {

Answer<Function*> Resolve(CUfunction handle) {
  CU_ASSIGN_OR_REFUSE(Context* const context, UsableContext());
  return ResolveFunction(handle, *context);
}

int BlocksPerSm(const Function& function, const CUlaunchConfig* config) {
  const uint64_t threads = uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > 1024) return 0;
  return BlocksPerSm(function, static_cast<int>(threads), config->sharedMemBytes);
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
  *size = BlocksPerSm(*function, config) > 0 ? static_cast<int>(function->max_cluster()) : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  if (clusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const Function* const function, Resolve(handle));
  if (config->numAttrs != 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t required = function->cluster_rules() & Function::kPackedCluster;
  uint64_t cluster = required != 0 ? uint64_t{required & 0xff} * (required >> 8 & 0xff) * (required >> 16) : 1;
  for (const CUlaunchAttribute& a : std::span(config->attrs, config->numAttrs)) {
    if (a.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& dim = a.value.clusterDim;
    const bool in_range = std::max({dim.x, dim.y, dim.z}) <= function->max_cluster();
    cluster = in_range ? uint64_t{dim.x} * dim.y * dim.z : 0;
  }
  if (cluster == 0 || cluster > function->max_cluster()) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const auto blocks =
      static_cast<uint64_t>(BlocksPerSm(*function, config)) *
      static_cast<uint64_t>(function->context().device().Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  // A cluster needs one SM only, however many blocks it has.
  *clusters = blocks == 0 ? 0 : static_cast<int>(std::max<uint64_t>(blocks / cluster, 1));
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
