// The PTX that machine code carries. With debug or line information (-lineinfo, -g, -G) ptxas keeps its input in the
// cubin, for debuggers: in section .nv_debug_ptx_txt, or for separate compilation in one with a suffix made of the
// text. The device linker keeps those of all units, and those of equal units in one section, one behind the other. The
// text is the input, line by line, without indentation, directives .loc and .file, lines that are comments, and the
// contents of debug sections; each line ends in a NUL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::image {

// One text per translation unit that has one, as views into `cubin`; PtxFrom makes PTX of them. None: it carries no
// PTX. Units without line information are missing. Error: CUDA_ERROR_INVALID_IMAGE.
Result<std::vector<std::span<const uint8_t>>> CarriedPtx(std::span<const uint8_t> cubin);

// The text with the line ends and line numbers of the original.
std::string PtxFrom(std::span<const uint8_t> carried);

}  // namespace tutti::image
