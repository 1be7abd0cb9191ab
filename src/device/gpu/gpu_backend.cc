#include "device/gpu/gpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "base/log.h"
#include "cuda/result.h"
#include "device/common/check_policy.h"
#include "device/gpu/executor_source.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/jit.h"
#include "device/gpu/pilot.h"
#include "device/gpu/remains.h"
#include "device/gpu/shared_slab.h"

namespace tutti::device::gpu {
namespace {

constexpr Policy kPolicies[] = {Policy::kShare};
constexpr uint64_t kFilesOfEach = ExecutorProcess::kFiles + ExecutorLink::kFiles;  // with an executor of its own

// Of Spaces, until their executors have ended, too (~GpuSpace). A party has half of them at most: a server's own quota
// does not count what ended clients leave. Thread-safe.
class Places {
 public:
  explicit Places(size_t most) : most_(most) {}

  // One, which must not outlive this.
  Result<std::shared_ptr<const void>> Take(const std::string& party) {
    std::lock_guard lock(mutex_);
    if (taken_ >= most_)
      return Fail(cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
                  fmt::format("a server has at most {} programs on a GPU", most_));
    const auto of_party = by_party_.find(party);
    const size_t has = of_party == by_party_.end() ? 0 : of_party->second;
    if (!party.empty() && has >= std::max<size_t>(most_ / 2, 1))
      return Fail(cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
                  fmt::format("{} has {} programs on the GPU, with those that have ended and have kernels there still, "
                              "half of what this server can have; the rest is for others",
                              party, has));
    ++taken_;
    ++by_party_[party];
    return std::shared_ptr<const void>(this, [this, party](const void*) { Give(party); });
  }

 private:
  void Give(const std::string& party) {
    std::lock_guard lock(mutex_);
    --taken_;
    const auto of_party = by_party_.find(party);
    if (--of_party->second == 0) by_party_.erase(of_party);
  }

  const size_t most_;
  std::mutex mutex_;
  size_t taken_ = 0;
  std::map<std::string, size_t> by_party_;
};

class GpuBackend final : public Backend {
 public:
  GpuBackend(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner, std::shared_ptr<FenceStore> fences)
      : places_(settings.most_programs),
        settings_(settings),
        fences_(std::move(fences)),
        host_(settings.host_bytes),
        spawner_(std::move(spawner)),
        executors_(settings, spawner_) {}

  Status Start() {
    TUTTI_TRY(executors_.Start(settings_.client_host_bytes));
    account_ = std::make_unique<MemoryAccount>(executors_.device().total_bytes);
    if (fences_ != nullptr)
      jit_ = std::make_unique<Jit>(fences_->settings(), settings_.vendor, executors_.device(), spawner_);
    log::Info("The driver of the GPU is {}", settings_.vendor);
    if (settings_.isolation != Isolation::kProcess && fences_ == nullptr)
      log::Info("Programs of a user share its contexts, and nothing keeps them from each other's memory there");
    if (settings_.isolation == Isolation::kShared && fences_ != nullptr)
      log::Info("Programs of a user share its contexts; their kernels are made from PTX, and check their addresses");
    if (settings_.isolation == Isolation::kAuto && fences_ != nullptr)
      log::Info(
          "Programs of a user share its contexts, with kernels that check their addresses, until they load others");
    return {};
  }

  std::span<const wire::DeviceInfo> devices() const override { return {&executors_.device(), 1}; }
  MemoryAccount& memory(uint32_t) override { return *account_; }

  Result<std::unique_ptr<Space>> CreateSpace(const Limits& limits, Sink* sink, std::string_view) override {
    TUTTI_ASSIGN(std::shared_ptr<const void> place, places_.Take(limits.party));
    return GpuSpace::Create(&executors_, limits, sink,
                            {.account = account_.get(),
                             .host = &host_,
                             .host_bytes = settings_.client_host_bytes,
                             .fences = fences_.get(),
                             .jit = jit_.get(),
                             .moves_out = settings_.isolation == Isolation::kAuto,
                             .place = std::move(place)},
                            &pilot_, &remains_);
  }
  size_t most_spaces() const override { return settings_.most_programs; }
  Files files(uint64_t limit) const override {
    constexpr uint64_t kStarting = (2 + 2 * Jit::kMost) * kFilesOfEach;  // with their own ends as they start
    return {.own = kStarting + DescriptorPlace::MostOfAll(limit), .per_space = kFilesOfEach};
  }

  void SetIdleWork(IdleWork work) override { pilot_.SetIdleWork(std::move(work)); }

  std::span<const Policy> policies() const override { return kPolicies; }
  Status SetPolicy(Policy policy) override { return CheckPolicy(policy, policies()); }
  Policy policy() const override { return kPolicies[0]; }
  void SetTracing(bool) override {}
  std::vector<TraceEvent> TakeTrace() override { return {}; }

 private:
  Places places_;
  const GpuSettings settings_;
  const std::shared_ptr<FenceStore> fences_;  // null: kernels are not fenced
  MemoryAccount host_;
  std::unique_ptr<MemoryAccount> account_;
  Pilot pilot_;
  const std::shared_ptr<os::Spawner> spawner_;
  ExecutorSource executors_;
  std::unique_ptr<Jit> jit_;  // with fences
  Remains remains_;
};

}  // namespace

Result<std::unique_ptr<Backend>> CreateGpuBackend(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner,
                                                  std::shared_ptr<FenceStore> fences) {
  GpuSettings own = settings;
  own.fenced = fences != nullptr;
  auto backend = std::make_unique<GpuBackend>(own, std::move(spawner), std::move(fences));
  TUTTI_TRY(backend->Start());
  return backend;
}

}  // namespace tutti::device::gpu
