// Which PTX of an image the CPU device runs. Any PTX will do, whatever architecture it was made for, so of each
// translation unit it takes the newest.
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

// One text per translation unit, to be linked together if they are more than one.
// `bytes`: PTX, fat binaries, a cubin, or a list of them.
// Errors: CUDA_ERROR_INVALID_IMAGE; CUDA_ERROR_NO_BINARY_FOR_GPU if a unit has machine code only, with a text that says
// for which architectures and how to build the program so that it has PTX.
Result<std::vector<PtxText>> SelectPtx(std::span<const uint8_t> bytes);

}  // namespace tutti::image
