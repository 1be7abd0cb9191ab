// The PTX in an image, read: what every compiler begins with.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "ptx/ast.h"

namespace tutti::compiler {

// Of PTX text, or of a fatbin in any compression; texts of several units are linked. `capability` says which of several
// texts (image/ptx_selection.h). The bytes are not needed afterwards. Fails with CUDA_ERROR_INVALID_IMAGE,
// CUDA_ERROR_NO_BINARY_FOR_GPU (no PTX in it), CUDA_ERROR_INVALID_PTX (with line, column and a caret) or
// CUDA_ERROR_UNSUPPORTED_PTX_VERSION.
Result<ptx::Module> ReadModule(std::span<const uint8_t> image, uint32_t capability);

}  // namespace tutti::compiler
