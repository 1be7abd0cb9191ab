#include "device/compile/code_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_budget.h"
#include "base/printable.h"
#include "cuda/result.h"
#include "device/compile/background_compiles.h"
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

// A set that forgets all of it now and then. Thread-safe.
class RememberedKeys {
 public:
  bool Has(const CacheKey& key) const {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key);
  }
  void Add(const CacheKey& key) {
    const std::lock_guard lock(mutex_);
    if (keys_.size() >= kMost) keys_.clear();
    keys_.insert(key);
  }

 private:
  static constexpr size_t kMost = 4096;
  mutable std::mutex mutex_;
  std::set<CacheKey> keys_;
};

// Code that is there soon.
struct QuickKernel : LoadedKernel {
  explicit QuickKernel(LoadedCode made) : object(std::move(made)) {
    descriptor = object->descriptor;
    is_quick = true;
  }
  const LoadedCode object;
};

constexpr size_t kMostSaid = 1024;

std::string PrintableName(const std::string& kernel) { return Printable(kernel.substr(0, kMostSaid)); }

// Half of the places: those who wait have as many as without.
uint32_t ThreadsFor(const CodeSettings& settings) { return std::clamp(settings.max_compilers / 2, 1u, 8u); }

// A first launch gets quick code, if its kernel is suited. The optimised code is compiled in the background, goes into
// the cache, and to those who hold the quick code; that is in memory alone.
class CodeStore final : public CodeSource {
 public:
  CodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host)
      : settings_(settings),
        pool_(settings, std::move(host)),
        later_(ThreadsFor(settings), [this](const Job& job, const Cancelled& stop) { Optimize(job, stop); }) {}

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
      TUTTI_ASSIGN(const Answer answer, Compile(request, image, image_key, key, cancelled));
      const Bytes& bytes = answer.bytes;
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
    std::optional<Job> later;
    auto code = kernels_.Get(key, cancelled, [&]() -> SharedWork<LoadedKernel>::Outcome {
      pool_.AwaitUnattended(key, cancelled);
      if (auto loaded = Cached(key, name)) return *loaded;
      compiler::CompileRequest request{.op = compiler::CompileOp::kKernel,
                                       .kernel = name,
                                       .block = {block[0], block[1], block[2]},
                                       .capability = settings_.capability};
      request.quick = settings_.quick_code && !slow_only_.Has(key) && later_.HasRoomFor(&cancelled);
      TUTTI_ASSIGN(Answer answer, Compile(request, image, image_key, key, cancelled));
      if (answer.is_quick) {
        request.quick = false;
        if (const auto quick = TakeQuick(answer.bytes, name)) {
          if (hopeless_.Has(key)) return quick;
          quick->replacement = std::make_shared<CodeReplacement>();
          auto kept = images().Kept(image);
          later = Job{.request = request,
                      .key = key,
                      .image_key = image_key,
                      .image = kept != nullptr ? std::move(kept) : images().Keep(image),
                      .quick = quick,
                      .client = &cancelled};
          return quick;
        }
        slow_only_.Add(key);
        TUTTI_ASSIGN(answer, Compile(request, image, image_key, key, cancelled));
      }
      return KeepAndLoad(key, answer.bytes, name);
    });
    // Only now: what it makes is put where the quick code has just been put.
    if (later) later_.Add(std::move(*later));
    return code;
  }

 private:
  using Answer = CompilerProcess::Answer;
  using Job = BackgroundCompiles::Job;

  // Null if it is of no use.
  std::shared_ptr<QuickKernel> TakeQuick(const Bytes& bytes, const std::string& name) {
    auto file = os::CreateMemoryOf("tutti-quick-kernel", bytes);
    auto object = file ? LoadObject(std::move(*file), name) : std::unexpected(file.error());
    if (!object) {
      log_.Warning("quick code", "the quick code of {} is of no use: {}", PrintableName(name), object.error().text);
      return nullptr;
    }
    return std::make_shared<QuickKernel>(std::move(*object));
  }

  // No compiler could be started, or its result not be kept: the compiler is not to blame.
  static bool IsServersOwn(const Error& error) {
    return error.code == 0 || error.code == cuda::CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  }

  // Makes what replaces quick code. A thread of later_'s. Where this server has no room for the compiler or its result
  // (IsServersOwn), which may be some client's doing, it is tried again soon, and by whoever loads the kernel anew.
  void Optimize(const Job& job, const Cancelled& stop) {
    constexpr int kTries = 5;
    constexpr std::chrono::milliseconds kPause{1000}, kLook{10};
    if (hopeless_.Has(job.key)) return;
    auto code = Optimized(job, stop);
    for (int tries = 1; !code && IsServersOwn(code.error()) && tries < kTries; ++tries) {
      for (auto waited = kPause * 0; waited < kPause && !stop.load(std::memory_order_relaxed); waited += kLook)
        std::this_thread::sleep_for(kLook);
      code = Optimized(job, stop);
    }
    if (stop.load(std::memory_order_relaxed)) return;
    if (!code && IsServersOwn(code.error())) {
      log_.Warning("optimised code", "{} keeps its quick code, which is slow, for now: {}",
                   PrintableName(job.request.kernel), code.error().text);
      return;
    }
    if (!code) {
      hopeless_.Add(job.key);
      log_.Warning("quick code", "{} keeps its quick code, which is slow, as long as this server runs: {}",
                   PrintableName(job.request.kernel), Printable(code.error().text.substr(0, kMostSaid)));
      return;
    }
    kernels_.Put(job.key, *code);
    if (job.quick != nullptr) job.quick->replacement->Arrive(job.quick, *code);
  }

  // Another server of the user may have been faster.
  Result<LoadedCode> Optimized(const Job& job, const Cancelled& stop) {
    auto code = [&]() -> Result<LoadedCode> {
      if (auto loaded = Cached(job.key, job.request.kernel)) return *loaded;
      TUTTI_ASSIGN(const Answer answer,
                   pool_.CompileInBackground(job.request, *job.image, job.image_key, stop, job.in_addition));
      if (answer.status != 0) return Fail(answer.status, answer.log);
      return KeepAndLoad(job.key, answer.bytes, job.request.kernel);
    }();
    if (code && job.quick != nullptr && !MayReplace(*job.quick->descriptor, *(*code)->descriptor))
      return Fail(cuda::CUDA_ERROR_INVALID_IMAGE, "its optimised code takes other arguments");
    return code;
  }

  std::optional<LoadedCode> Cached(const CacheKey& key, const std::string& name) {
    auto entry = cache().Find(key);
    if (!entry) return std::nullopt;
    auto loaded = Load(std::move(entry->file), entry->bytes, name);
    return loaded ? std::optional(*loaded) : std::nullopt;
  }

  Result<LoadedCode> KeepAndLoad(const CacheKey& key, const Bytes& bytes, const std::string& name) {
    if (Keep(key, bytes)) {
      if (auto entry = cache().Find(key)) return Load(std::move(entry->file), bytes, name);
    }
    TUTTI_ASSIGN(os::Fd file, os::CreateMemoryOf("tutti-kernel", bytes));
    return LoadObject(std::move(file), name);
  }

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

  // What goes wrong where quick code is asked for may be the fault of that, unless it is that time is up.
  Result<Answer> Compile(compiler::CompileRequest request, std::span<const uint8_t> image, const CacheKey& image_key,
                         const CacheKey& key, const Cancelled& cancelled) {
    if (const auto refused = refusals_.Find(key)) return std::unexpected(*refused);
    const auto keep = [this, key](const Bytes& bytes) { Keep(key, bytes); };
    const uint64_t begin_ns = NowNs();
    auto made = pool_.Compile(request, image, image_key, cancelled, key, keep);
    const bool has_failed = made ? made->is_quick && made->status != 0 : !cancelled.load(std::memory_order_relaxed);
    if (request.quick && has_failed && NowNs() - begin_ns < settings_.request_limit_ns) {
      slow_only_.Add(key);
      request.quick = false;
      made = pool_.Compile(request, image, image_key, cancelled, key, keep);
    }
    TUTTI_ASSIGN(Answer answer, std::move(made));
    answer.is_quick = answer.is_quick && request.quick;
    if (answer.status == 0) return answer;
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
  RememberedKeys slow_only_;  // of which no quick code can be made, or loaded
  RememberedKeys hopeless_;  // of which the optimised code could not be made
  LogBudget log_;
  SharedWork<module::ModuleIndex> indexes_;
  SharedWork<LoadedKernel> kernels_;
  BackgroundCompiles later_;  // last: its threads use the others
};

}  // namespace

std::shared_ptr<CodeSource> CreateCodeStore(const CodeSettings& settings, std::shared_ptr<CompilerHost> host) {
  return std::make_shared<CodeStore>(settings, std::move(host));
}

}  // namespace tutti::device
