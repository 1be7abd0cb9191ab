// What a client's work takes of the GPU's time, and what follows from that.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "device/gpu/gpu_space.h"

namespace tutti::device::gpu {
namespace {

// So that a kernel limit is reached after some looks in which nothing has ended, however late one of them comes.
uint64_t LongestStepNs(uint64_t limit_ns) {
  constexpr uint64_t kSteps = 4;
  return limit_ns == 0 ? kNever : std::max<uint64_t>(limit_ns / kSteps, 1);
}

}  // namespace

void GpuSpace::CountTime(uint64_t now_ns, uint64_t computing) {
  std::unique_lock lock(mutex_);
  if (executor_ == nullptr || ahead_ == 0) return;
  Charge(now_ns, computing, false);
  UnlockAndRunDeferred(&lock);
}

// Programs that compute on the GPU at the same time take turns, by and large equal ones.
void GpuSpace::Charge(uint64_t now_ns, uint64_t computing, bool has_computed) {
  const uint64_t passed_ns = now_ns - std::min(now_ns, charged_until_ns_);
  charged_until_ns_ = std::max(now_ns, charged_until_ns_);
  if (!has_computed && !computes()) return;
  const auto sms =
      static_cast<uint64_t>(executors_->device().attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
  counters_.Add(metrics::Counter::device_ns, passed_ns * sms / computing);
  // A pilot that comes late has not seen whether there was some.
  without_progress_ns_ +=
      std::min(passed_ns / computing, LongestStepNs(kernel_limit_ns_.load(std::memory_order_relaxed)));
  if (gate_.Spend(passed_ns / computing, now_ns)) counters_.Add(metrics::Counter::throttles);
}

// A driver does not say when a kernel begins, so what is limited is the time on the GPU without any progress.
void GpuSpace::LookForEndlessKernel() {
  if (computing_ == 0) without_progress_ns_ = 0;
  const uint64_t limit_ns = kernel_limit_ns_.load(std::memory_order_relaxed);
  if (limit_ns == 0 || without_progress_ns_ <= limit_ns) return;
  constexpr uint64_t kNsPerMs = 1'000'000;
  counters_.Add(metrics::Counter::time_limit_hits);
  if (!modules_.are_fenced()) executor_->executor()->HaveClientsLeave();  // else it ends at its next jump back
  LoseExecutor({.code = cuda::CUDA_ERROR_LAUNCH_TIMEOUT,
                .text = fmt::format("a kernel ran for longer than the limit of {} ms", limit_ns / kNsPerMs)});
}

// Where the pilot sleeps, no time is counted. It passes as fast as the clock at most.
uint64_t GpuSpace::NextLookNs() const {
  uint64_t next_ns = held_back_ != 0 ? gate_.opens_at_ns() : kNever;
  if (executor_ == nullptr || computing_ == 0) return next_ns;
  next_ns = std::min(next_ns, NextLookForStallNs());
  const uint64_t limit_ns = kernel_limit_ns_.load(std::memory_order_relaxed);
  if (limit_ns != 0) next_ns = std::min(next_ns, charged_until_ns_ + LongestStepNs(limit_ns));
  if (held_back_ != 0 && !gate_.stalled()) next_ns = std::min(next_ns, charged_until_ns_ + gate_.until_stall_ns());
  return next_ns;
}

bool GpuSpace::ComputesNow() const {
  return std::ranges::any_of(lent_.all(), [](const auto& lent) {
    return !lent->unfinished.empty() && lent->unfinished.front().sequence <= lent->given &&
           Computes(*lent->unfinished.front().operation);
  });
}

void GpuSpace::LetPrecede(bool normal_has_work) {
  const bool yields = normal_has_work && is_below_normal();
  if (gate_.yields() == yields) return;
  std::unique_lock lock(mutex_);
  gate_.SetYields(yields);
  if (executor_ != nullptr) GiveWhatIsHeld();
  UnlockAndRunDeferred(&lock);
}

}  // namespace tutti::device::gpu
