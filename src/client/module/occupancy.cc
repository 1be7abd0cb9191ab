#include "client/module/occupancy.h"

#include <algorithm>

#include "client/context/context.h"
#include "cuda/device_attribute.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

constexpr int kWarp = 32;

int RoundUpToWarps(int threads) { return (threads + kWarp - 1) / kWarp * kWarp; }

int Limit(const Function& function, CUdevice_attribute attribute) {
  return function.context().device().Attribute(attribute);
}

int64_t SharedPerBlock(const Function& function) {
  return int64_t{function.info().static_shared_bytes} +
         Limit(function, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

}  // namespace

int BlocksPerSm(const Function& function, int block_size, size_t dynamic_shared_bytes) {
  if (block_size <= 0 || block_size > static_cast<int>(function.info().max_threads)) return 0;
  if (function.context().device().Has(wire::kDeviceAsksOccupancy)) {
    const auto most = static_cast<size_t>(Limit(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    if (dynamic_shared_bytes > std::max(most, size_t{function.max_dynamic_shared()})) return 0;
    return static_cast<int>(
        function.AskedBlocksPerSm(static_cast<uint32_t>(block_size), static_cast<uint32_t>(dynamic_shared_bytes)));
  }
  int64_t blocks = Limit(function, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  blocks = std::min<int64_t>(
      blocks, Limit(function, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / RoundUpToWarps(block_size));
  const int64_t shared =
      SharedPerBlock(function) + static_cast<int64_t>(std::min<size_t>(dynamic_shared_bytes, INT32_MAX));
  if (shared > 0)
    blocks =
        std::min<int64_t>(blocks, Limit(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
  const int64_t registers = int64_t{function.info().registers} * RoundUpToWarps(block_size);
  if (registers > 0)
    blocks =
        std::min<int64_t>(blocks, Limit(function, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / registers);
  return static_cast<int>(std::max<int64_t>(blocks, 0));
}

BlockSuggestion SuggestBlock(const Function& function, CUoccupancyB2DSize shared_of, size_t dynamic_shared_bytes,
                             int limit) {
  int largest = std::min(static_cast<int>(function.info().max_threads),
                         Limit(function, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  if (limit > 0) largest = std::min(largest, limit);
  BlockSuggestion best;
  int best_threads = 0, best_blocks = 0;
  for (int size = RoundUpToWarps(largest); size > 0; size -= kWarp) {
    const int block = std::min(size, largest);
    const int blocks = BlocksPerSm(function, block, shared_of != nullptr ? shared_of(block) : dynamic_shared_bytes);
    if (blocks * block <= best_threads) continue;
    best.block = block;
    best_threads = blocks * block;
    best_blocks = blocks;
  }
  best.min_grid = best_blocks * Limit(function, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return best;
}

size_t AvailableShared(const Function& function, int blocks, int block_size) {
  if (blocks <= 0 || BlocksPerSm(function, block_size, 0) < blocks) return 0;
  const int64_t per_block =
      Limit(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / blocks - SharedPerBlock(function);
  const int64_t most = Limit(function, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                       int64_t{function.info().static_shared_bytes};
  return static_cast<size_t>(std::clamp<int64_t>(per_block, 0, std::max<int64_t>(most, 0)));
}

}  // namespace tutti::client
