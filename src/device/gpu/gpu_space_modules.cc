// Modules of a client, and where code may run that cannot be fenced: in an executor that it shares with nobody. With
// Isolation::kAuto a client moves there when it first loads such code: what it has is mapped in both for a moment,
// nothing is copied, and what it had loaded stays fenced.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/log.h"
#include "cuda/result.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {

Result<Space::LoadedModule> GpuSpace::LoadModule(uint32_t device, std::span<const uint8_t> image) {
  if (device != 0) return tutti::Fail(cuda::CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device));
  LowerLimits();  // it may need the memory
  if (!modules_.are_fenced() || (moves_out_ && IsAlone())) return modules_.LoadAsItIs(image, *memory_);
  const auto fenced = modules_.Fence(image);
  const bool lacks_something = !fenced || !(*fenced)->refused.empty();
  if (moves_out_ && lacks_something && (fenced || GpuModules::CannotBeFenced(fenced.error()))) {
    const Status moved = MoveOut();
    if (moved) return modules_.LoadAsItIs(image, *memory_);
    log::Info("A program cannot move to an executor of its own, for code that cannot be fenced: {}",
              moved.error().text);
    if (!fenced)
      return tutti::Fail(fenced.error().code, fmt::format("{}. It cannot move to a context of its own here: {}",
                                                          fenced.error().text, moved.error().text));
  }
  if (!fenced) return std::unexpected(fenced.error());
  return modules_.Load(**fenced, *memory_);
}

Status GpuSpace::UnloadModule(uint32_t module) {
  TUTTI_ASSIGN(const GpuModules::Unloaded unloaded, modules_.Unload(module));
  memory_->RetireOfDriver(unloaded.bytes);
  if (unloaded.managed != 0) (void)memory_->Retire(unloaded.managed, GpuMemory::Holder::kDevice);
  std::shared_ptr<const void> kept(this, [this, unloaded](const void*) { UnloadAside(unloaded); });
  std::unique_lock lock(mutex_);
  engine_.Defer({.address = 0, .kept = std::move(kept)});
  UnlockAndRunDeferred(&lock);
  return {};
}

// It counts as the client's for as long as it is loaded: for as long as others' kernels run, perhaps. Nothing else of
// the client waits for that.
void GpuSpace::UnloadAside(const GpuModules::Unloaded& unloaded) {
  {
    std::lock_guard lock(unloads_mutex_);
    unloads_.push_back(unloaded);
    if (unloads_.size() > 1) return;
  }
  UnloadNext();
}

// One after the other: however many wait, one is asked for again.
void GpuSpace::UnloadNext() {
  constexpr std::chrono::milliseconds kLook{20};
  for (bool is_last = false; !is_last;) {
    GpuModules::Unloaded first;
    {
      std::lock_guard lock(unloads_mutex_);
      first = unloads_.front();
    }
    if (!modules_.UnloadFromExecutor(first.module)) return aside_.PostIn(kLook, [this] { UnloadNext(); });
    memory_->ReleaseOfDriver(first.bytes);
    if (first.managed != 0) memory_->Release(first.managed);
    std::lock_guard lock(unloads_mutex_);
    unloads_.pop_front();
    is_last = unloads_.empty();
  }
}

bool GpuSpace::IsAlone() {
  std::lock_guard lock(mutex_);
  // One that has not come yet may have been asked for before the client was suspect.
  return executor_ != nullptr ? executor_->is_alone() : held_->window.group.empty();
}

Status GpuSpace::MoveOut() {
  constexpr uint64_t kPatienceNs = 10'000'000'000;  // kernels of its own may run on
  constexpr std::chrono::milliseconds kLook{1};
  const uint64_t since_ns = NowNs();
  for (bool first = true;; first = false) {
    std::unique_lock lock(mutex_);
    suspicion_.StayAlone();
    wants_out_ = false;
    if (lost_ || muted_) return tutti::Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "its executor is lost");
    if (executor_ != nullptr && executor_->is_alone()) return {};
    auto why = WhyBound();
    if (!why && NowNs() - since_ns > kPatienceNs) why = "its kernels do not end, or no executor takes what it has";
    if (why) return tutti::Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, *why);
    wants_out_ = true;
    if (first) leave_at_ns_ = 0;
    if (executor_ != nullptr) LookWhetherToLeave();
    UnlockAndRunDeferred(&lock);
    if (first) pilot_->Look();
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace tutti::device::gpu
