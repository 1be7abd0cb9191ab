#include "device/compile/fence_store.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "cuda/result.h"
#include "device/compile/compiler_identity.h"

namespace tutti::device {

CodeCache& FenceStore::cache() {
  std::call_once(cache_once_, [this] { cache_.emplace(settings_.cache_folder, settings_.cache_bytes); });
  return *cache_;
}

CacheKey FenceStore::KeyOf(const CacheKey& image, uint32_t capability) {
  std::call_once(identity_once_, [this] { identity_ = CompilerIdentity(settings_.compiler); });
  return KeyBuilder().Add("fence").Add(identity_).Add(uint64_t{capability}).Add(image).Finish();
}

void FenceStore::Keep(const CacheKey& key, std::span<const uint8_t> bytes) {
  if (cache().path().empty()) return;
  if (const auto stored = cache().Store(key, bytes); !stored)
    log::Warning("code cache: {}; going on without", stored.error().text);
}

Result<std::shared_ptr<const compiler::FencedImage>> FenceStore::Fence(std::span<const uint8_t> image,
                                                                       uint32_t capability,
                                                                       const Cancelled& cancelled) {
  const CacheKey image_key = HashOf(image), key = KeyOf(image_key, capability);
  return images_.Get(key, cancelled, [&]() -> SharedWork<Image>::Outcome {
    if (const auto entry = cache().Find(key)) {
      if (auto fenced = compiler::ParseFencedImage(entry->bytes)) return std::make_shared<Image>(std::move(*fenced));
    }
    const compiler::CompileRequest request{.op = compiler::CompileOp::kFence, .kernel = {}, .capability = capability};
    TUTTI_ASSIGN(const auto answer, pool_.Compile(request, image, image_key, cancelled));
    // The client gets this number as it is, so it must be a CUresult.
    if (answer.status != 0)
      return Fail(cuda::ResultName(answer.status) != nullptr ? answer.status : cuda::CUDA_ERROR_UNKNOWN, answer.log);
    auto fenced = compiler::ParseFencedImage(answer.bytes);
    if (!fenced) return Fail(cuda::CUDA_ERROR_UNKNOWN, "the compiler's answer: " + fenced.error().text);
    Keep(key, answer.bytes);
    return std::make_shared<Image>(std::move(*fenced));
  });
}

}  // namespace tutti::device
