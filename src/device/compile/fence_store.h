// Where a GPU's fenced images come from: the cache on disk, else a compiler (compiler/fence), whose result goes into
// the cache.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "compiler/protocol/fenced_image.h"
#include "device/compile/code_cache.h"
#include "device/compile/code_settings.h"
#include "device/compile/code_source.h"
#include "device/compile/compiler_host.h"
#include "device/compile/compiler_pool.h"
#include "device/compile/shared_work.h"

namespace tutti::device {

// Thread-safe. Requests for the same image at the same time share one compiler's work. No process is started and no
// file touched before the first request.
class FenceStore {
 public:
  FenceStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host)
      : settings_(settings), pool_(settings, std::move(host)) {}

  const CodeSettings& settings() const { return settings_; }

  // Of PTX text or of a fatbin with PTX. May take seconds, but returns soon after `cancelled` becomes true. Fails with
  // a CUresult, and the compiler's log as text; with NO_BINARY_FOR_GPU where there is no PTX.
  Result<std::shared_ptr<const compiler::FencedImage>> Fence(std::span<const uint8_t> image, uint32_t capability,
                                                             const Cancelled& cancelled);

 private:
  using Image = compiler::FencedImage;
  CodeCache& cache();
  CacheKey KeyOf(const CacheKey& image, uint32_t capability);
  void Keep(const CacheKey& key, std::span<const uint8_t> bytes);

  const CodeSettings settings_;
  std::once_flag cache_once_, identity_once_;
  std::optional<CodeCache> cache_;
  CacheKey identity_;
  CompilerPool pool_;
  SharedWork<Image> images_;
};

}  // namespace tutti::device
