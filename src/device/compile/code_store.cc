#include "device/compile/code_store.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/log.h"
#include "cuda/result.h"
#include "device/compile/cache_key.h"
#include "device/compile/code_cache.h"
#include "device/compile/compiler_identity.h"
#include "device/compile/compiler_pool.h"
#include "device/compile/loaded_object.h"
#include "device/compile/shared_work.h"
#include "os/memory.h"

namespace tutti::device {
namespace {

using Bytes = std::vector<uint8_t>;

// Remembers which image an index was made from, so that an image is not hashed again for each of its kernels.
// Thread-safe.
class IndexOrigins {
 public:
  std::shared_ptr<const module::ModuleIndex> Keep(module::ModuleIndex index, const CacheKey& image) {
    auto* kept = new module::ModuleIndex(std::move(index));
    {
      const std::lock_guard lock(state_->mutex);
      state_->images[kept] = image;
    }
    return {kept, [state = state_](const module::ModuleIndex* gone) {
              {
                const std::lock_guard lock(state->mutex);
                state->images.erase(gone);
              }
              delete gone;
            }};
  }

  std::optional<CacheKey> ImageOf(const module::ModuleIndex* index) const {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->images.find(index);
    if (found == state_->images.end()) return std::nullopt;
    return found->second;
  }

 private:
  struct State {
    std::mutex mutex;
    std::unordered_map<const module::ModuleIndex*, CacheKey> images;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives the store with the last index
};

// The compiler's refusals (a negative cache), so that repeated launches of a kernel that cannot be compiled do not
// compile it repeatedly. Thread-safe.
class Refusals {
 public:
  std::optional<Error> Find(const CacheKey& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = errors_.find(key);
    if (found == errors_.end()) return std::nullopt;
    return found->second;
  }
  void Add(const CacheKey& key, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (errors_.size() >= kMaxErrors || bytes_ + error.text.size() > kMaxBytes) {
      errors_.clear();
      bytes_ = 0;
    }
    if (errors_.insert_or_assign(key, error).second) bytes_ += error.text.size();
  }

 private:
  static constexpr size_t kMaxErrors = 1024;
  static constexpr size_t kMaxBytes = 1 << 20;  // of text
  mutable std::mutex mutex_;
  std::map<CacheKey, Error> errors_;
  size_t bytes_ = 0;
};

class CodeStore final : public CodeSource {
 public:
  CodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host)
      : settings_(settings), pool_(settings, std::move(host)) {}

  Result<std::shared_ptr<const module::ModuleIndex>> Index(std::span<const uint8_t> image,
                                                           const Cancelled& cancelled) override {
    const CacheKey image_key = HashOf(image);
    const CacheKey key = KeyBuilder().Add("index").Add(identity()).Add(image_key).Finish();
    return indexes_.Get(key, cancelled, [&]() -> SharedWork<module::ModuleIndex>::Outcome {
      pool_.AwaitUnattended(key, cancelled);
      if (const auto entry = cache().Find(key)) {
        if (auto index = module::ParseModuleIndex(entry->bytes)) return origins_.Keep(std::move(*index), image_key);
      }
      const compiler::CompileRequest request{
          .op = compiler::CompileOp::kIndex, .kernel = {}, .capability = settings_.capability};
      TUTTI_ASSIGN(const Bytes bytes, Compile(request, image, image_key, key, cancelled));
      auto index = module::ParseModuleIndex(bytes);
      if (!index) return Fail(cuda::CUDA_ERROR_UNKNOWN, "the compiler's index of the module: " + index.error().text);
      Keep(key, bytes);
      return origins_.Keep(std::move(*index), image_key);
    });
  }

  Result<std::shared_ptr<const LoadedKernel>> Kernel(std::span<const uint8_t> image, const module::ModuleIndex& index,
                                                     uint32_t kernel, const uint32_t block[3],
                                                     const Cancelled& cancelled) override {
    if (kernel >= index.kernels.size()) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "no such kernel");
    const std::string& name = index.kernels[kernel].name;
    const auto known = origins_.ImageOf(&index);
    const CacheKey image_key = known ? *known : HashOf(image);
    const CacheKey key = KeyBuilder()
                             .Add("kernel")
                             .Add(identity())
                             .Add(image_key)
                             .Add(name)
                             .Add(block[0])
                             .Add(block[1])
                             .Add(block[2])
                             .Finish();
    return kernels_.Get(key, cancelled, [&]() -> SharedWork<LoadedKernel>::Outcome {
      pool_.AwaitUnattended(key, cancelled);
      if (auto entry = cache().Find(key)) {
        if (auto loaded = Load(std::move(entry->file), entry->bytes, name)) return loaded;
      }
      const compiler::CompileRequest request{.op = compiler::CompileOp::kKernel,
                                             .kernel = name,
                                             .block = {block[0], block[1], block[2]},
                                             .capability = settings_.capability};
      TUTTI_ASSIGN(const Bytes bytes, Compile(request, image, image_key, key, cancelled));
      if (Keep(key, bytes)) {
        if (auto entry = cache().Find(key)) return Load(std::move(entry->file), bytes, name);
      }
      TUTTI_ASSIGN(os::Fd file, os::CreateMemoryOf("tutti-kernel", bytes));
      return LoadObject(std::move(file), name);
    });
  }

 private:
  // Both created by the first request, since they access files.
  CodeCache& cache() {
    std::call_once(cache_once_, [this] { cache_.emplace(settings_.cache_folder, settings_.cache_bytes); });
    return *cache_;
  }
  // Everything besides the image that its code depends on.
  const CacheKey& identity() {
    std::call_once(identity_once_, [this] {
      identity_ = KeyBuilder().Add(CompilerIdentity(settings_.compiler)).Add(uint64_t{settings_.capability}).Finish();
    });
    return identity_;
  }

  // From the cache's file or, where that is impossible (a file system mounted noexec), from a copy in memory.
  static Result<std::shared_ptr<const LoadedKernel>> Load(os::Fd file, std::span<const uint8_t> bytes,
                                                          const std::string& name) {
    if (auto loaded = LoadObject(std::move(file), name)) return loaded;
    TUTTI_ASSIGN(os::Fd copy, os::CreateMemoryOf("tutti-kernel", bytes));
    return LoadObject(std::move(copy), name);
  }

  bool Keep(const CacheKey& key, const Bytes& bytes) {
    if (cache().path().empty()) return false;
    const auto stored = cache().Store(key, bytes);
    if (!stored && !warned_.test_and_set()) log::Warning("code cache: {}; going on without", stored.error().text);
    return stored.has_value();
  }

  Result<Bytes> Compile(const compiler::CompileRequest& request, std::span<const uint8_t> image,
                        const CacheKey& image_key, const CacheKey& key, const Cancelled& cancelled) {
    if (const auto refused = refusals_.Find(key)) return std::unexpected(*refused);
    const auto keep = [this, key](const Bytes& bytes) { Keep(key, bytes); };
    TUTTI_ASSIGN(auto answer, pool_.Compile(request, image, image_key, cancelled, key, keep));
    if (answer.status == 0) return std::move(answer.bytes);
    // The client gets this number as it is, so it must be a CUresult.
    const int code = cuda::ResultName(answer.status) != nullptr ? answer.status : cuda::CUDA_ERROR_UNKNOWN;
    const Error error{code, answer.log};
    refusals_.Add(key, error);
    return std::unexpected(error);
  }

  const CodeSettings settings_;
  std::once_flag cache_once_;
  std::optional<CodeCache> cache_;
  std::once_flag identity_once_;
  CacheKey identity_;
  std::atomic_flag warned_;
  CompilerPool pool_;
  IndexOrigins origins_;
  Refusals refusals_;
  SharedWork<module::ModuleIndex> indexes_;
  SharedWork<LoadedKernel> kernels_;
};

}  // namespace

std::shared_ptr<CodeSource> CreateCodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host) {
  return std::make_shared<CodeStore>(settings, std::move(host));
}

}  // namespace tutti::device
