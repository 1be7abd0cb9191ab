// The two compressions of fatbin entries. Both refuse a result that is not exactly `expected` bytes, or more than
// `limit`; neither allocates what a header claims without further evidence. Error: CUDA_ERROR_INVALID_IMAGE.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace tutti::image {

Result<std::vector<uint8_t>> DecompressLz4(std::span<const uint8_t> block, uint64_t expected, uint64_t limit);
Result<std::vector<uint8_t>> DecompressZstd(std::span<const uint8_t> frame, uint64_t expected, uint64_t limit);

}  // namespace tutti::image
