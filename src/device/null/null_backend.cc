#include "device/null/null_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/clock.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"

namespace tutti::device::null {
namespace {

constexpr uint64_t kMemoryBytes = 16ull << 30;
constexpr uint64_t kWindowBytes = 256ull << 20;
constexpr uint64_t kGranularity = 256;
constexpr uint32_t kKernelsPerModule = 1;

// Memory is given out from the window's begin to its end and never used again; enough for a measurement.
class NullSpace final : public Space {
 public:
  NullSpace(uint64_t window_base, Sink* sink, std::atomic<uint64_t>* used_bytes)
      : window_base_(window_base), sink_(sink), device_used_bytes_(used_bytes) {}
  ~NullSpace() override { *device_used_bytes_ -= used_bytes_; }

  Result<uint64_t> Allocate(uint32_t, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) override {
    std::lock_guard lock(mutex_);
    alignment = std::max(alignment, kGranularity);
    const uint64_t begin = (next_ + alignment - 1) & ~(alignment - 1);
    if (bytes == 0) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size");
    if (bytes > kWindowBytes || begin > kWindowBytes - bytes) return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "the window is used up");
    next_ = begin + bytes;
    const bool counted = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged;
    allocations_[window_base_ + begin] = counted ? bytes : 0;
    Count(counted ? static_cast<int64_t>(bytes) : 0);
    return window_base_ + begin;
  }
  Status Free(uint64_t address) override {
    std::lock_guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end()) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("no allocation begins at 0x{:x}", address));
    Count(-static_cast<int64_t>(found->second));
    allocations_.erase(found);
    return {};
  }

  Status CreateStream(uint32_t stream, const StreamOptions&) override {
    if (stream == 0 || stream >= wire::kMaxStreams || !streams_.insert(stream).second) return Fail("cannot create this stream");
    return {};
  }
  Status DestroyStream(uint32_t stream) override {
    if (streams_.erase(stream) == 0) return Fail("no such stream");
    return {};
  }
  Status Launch(uint32_t stream, uint64_t ticket, const Grid&) override {
    ++launches_;
    return Done(stream, ticket);
  }
  Status Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody&) override { return Done(stream, ticket); }
  Status Fill(uint32_t stream, uint64_t ticket, const wire::FillBody&) override { return Done(stream, ticket); }
  Status RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) override {
    if (event != 0) sink_->EventReached(event, NowNs());
    return Done(stream, ticket);
  }
  Status Wait(uint32_t stream, uint64_t ticket, uint32_t, uint64_t) override { return Done(stream, ticket); }
  // The call is made, but nothing waits for it.
  Status HostCall(uint32_t stream, uint64_t ticket, uint64_t token) override {
    sink_->HostCallReached(stream, token, 0);
    return Done(stream, ticket);
  }
  Status Mark(uint32_t stream, uint64_t ticket) override { return Done(stream, ticket); }
  Status HostCallDone(uint32_t) override { return {}; }

  Result<LoadedModule> LoadModule(uint32_t, std::span<const uint8_t>) override {
    auto index = std::make_shared<guest::ModuleIndex>();
    for (uint32_t i = 0; i < kKernelsPerModule; ++i) index->kernels.push_back({.name = "null"});
    std::lock_guard lock(mutex_);
    const uint32_t id = next_module_++;
    modules_.insert(id);
    return LoadedModule{.id = id, .segment_address = 0, .index = std::move(index)};
  }
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t, const uint32_t[3]) override {
    std::lock_guard lock(mutex_);
    if (!modules_.contains(module)) return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, "no such module");
    return PreparedKernel{.id = module, .local_bytes = 0, .max_threads = 1024};
  }
  Status UnloadModule(uint32_t module) override {
    std::lock_guard lock(mutex_);
    if (modules_.erase(module) == 0) return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, "no such module");
    return {};
  }
  void Reset(uint32_t) override {}
  void SetLimits(const Limits&) override {}
  Usage usage() const override {
    std::lock_guard lock(mutex_);
    return Usage{.launches = launches_, .memory_bytes = used_bytes_};
  }

 private:
  Status Done(uint32_t stream, uint64_t ticket) {
    if (!streams_.contains(stream)) return Fail("no such stream");
    sink_->Completed(stream, ticket);
    return {};
  }
  void Count(int64_t bytes) {
    used_bytes_ += bytes;
    *device_used_bytes_ += bytes;
    sink_->MemoryUsed(0, used_bytes_);
  }

  const uint64_t window_base_;
  Sink* const sink_;
  std::atomic<uint64_t>* const device_used_bytes_;
  std::set<uint32_t> streams_;
  std::atomic<uint64_t> launches_{0};

  mutable std::mutex mutex_;
  uint64_t next_ = 0;
  uint64_t used_bytes_ = 0;
  std::unordered_map<uint64_t, uint64_t> allocations_;  // address -> counted bytes
  std::set<uint32_t> modules_;
  uint32_t next_module_ = 1;
};

class NullBackend final : public Backend {
 public:
  NullBackend() {
    std::strcpy(info_.name, "Tutti Null Device");
    info_.total_bytes = kMemoryBytes;
    info_.attributes[cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
    info_.attributes[cuda::CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32;
    info_.attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 1;
    info_.attributes[cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 8;
    info_.attributes[cuda::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1;
  }
  std::span<const wire::DeviceInfo> devices() const override { return {&info_, 1}; }
  uint64_t window_bytes() const override { return kWindowBytes; }
  uint64_t used_bytes(uint32_t) const override { return used_bytes_; }
  Result<std::unique_ptr<Space>> CreateSpace(uint64_t window_base, int, const Limits&, Sink* sink, std::string_view) override {
    return std::make_unique<NullSpace>(window_base, sink, &used_bytes_);
  }
  void SetIdleWork(IdleWork) override {}  // it has no threads
  void SetPolicy(Policy policy) override { policy_ = policy; }
  Policy policy() const override { return policy_; }
  void SetTracing(bool) override {}
  std::vector<TraceEvent> TakeTrace() override { return {}; }

 private:
  wire::DeviceInfo info_{};
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<Policy> policy_{Policy::kShare};
};

}  // namespace

std::unique_ptr<Backend> CreateNullBackend() { return std::make_unique<NullBackend>(); }

}  // namespace tutti::device::null
