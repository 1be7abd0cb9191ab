// Selects the PTX of an image that the CPU device runs. PTX for any architecture would do; but host code may depend on
// the compute capability that the device reports, so of each translation unit it is what a GPU of that capability would
// run. PTX that machine code carries (cubin_ptx.h) is taken where there is no other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::image {

struct PtxText {
  std::string text;  // without trailing NULs
  uint32_t arch = 0;  // 0: unknown (plain text: see its .target)
};

// One text per translation unit; several are to be linked together. Of several candidates the newest that is not above
// `capability` (80 for 8.0; 0: any), else the oldest. `bytes`: PTX, fat binaries, a cubin, or a list of them. Errors:
// CUDA_ERROR_INVALID_IMAGE; CUDA_ERROR_NO_BINARY_FOR_GPU if a unit has machine code only, with a text that says for
// which architectures and what would help.
Result<std::vector<PtxText>> SelectPtx(std::span<const uint8_t> bytes, uint32_t capability = 0);

}  // namespace tutti::image
