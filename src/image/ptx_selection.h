// Which PTX of an image the CPU device runs. Any will do, whatever architecture it was made for; but host code may go
// by the compute capability that it is told, so of each translation unit it is the one that a GPU of that capability
// would run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::image {

struct PtxText {
  std::string text;   // without trailing NULs
  uint32_t arch = 0;  // 0: unknown (plain text: see its .target)
};

// One text per translation unit, to be linked together if they are more than one. Of several the newest that is not
// above `capability` (80 for 8.0; 0: any), else the oldest.
// `bytes`: PTX, fat binaries, a cubin, or a list of them.
// Errors: CUDA_ERROR_INVALID_IMAGE; CUDA_ERROR_NO_BINARY_FOR_GPU if a unit has machine code only, with a text that says
// for which architectures and how to build the program so that it has PTX.
Result<std::vector<PtxText>> SelectPtx(std::span<const uint8_t> bytes, uint32_t capability = 0);

}  // namespace tutti::image
