// What tutti-fence answers: an image's PTX, made fit for a context that several clients share (compiler/fence).
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "compiler/protocol/compile_protocol.h"

namespace tutti::compiler {

// A serialized FencedImage (compiler/protocol/fenced_image.h). Fails with a CUresult and, as text, what a person needs:
// as ReadModule and FencePtx do, with OUT_OF_MEMORY where the image needs more than this process may have, and for
// requests that are not CompileOp::kFence with NOT_SUPPORTED.
Result<std::vector<uint8_t>> Fence(const CompileRequest& request, const std::vector<uint8_t>& image);

}  // namespace tutti::compiler
