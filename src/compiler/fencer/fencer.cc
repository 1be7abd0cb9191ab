#include "compiler/fencer/fencer.h"

#include <new>
#include <utility>

#include "compiler/fence/fence.h"
#include "compiler/input/read_module.h"
#include "compiler/protocol/fenced_image.h"
#include "cuda/result.h"

namespace tutti::compiler {

Result<std::vector<uint8_t>> Fence(const CompileRequest& request, const std::vector<uint8_t>& image) try {
  if (request.op != CompileOp::kFence)
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "tutti-fence makes no code: that is tutti-compiler's");
  TUTTI_ASSIGN(ptx::Module module, ReadModule(image, request.capability));
  TUTTI_ASSIGN(FencedModule fenced, FencePtx(std::move(module), kSharedContext));
  FencedImage made{.ptx = std::move(fenced.ptx), .functions = std::move(fenced.functions), .refused = {}};
  for (auto& [function, why] : fenced.refused) made.refused.emplace(std::move(function), std::move(why));
  return Serialize(made);
} catch (const std::bad_alloc&) {
  return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the image needs more memory than what fences it may have");
}

}  // namespace tutti::compiler
