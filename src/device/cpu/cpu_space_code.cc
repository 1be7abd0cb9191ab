// Kernels' code: loaded when they are first wanted, evicted to make room, loaded again, and replaced by better code
// (module_table.h).
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cuda/result.h"
#include "device/cpu/cpu_space.h"

namespace tutti::device::cpu {

void CpuSpace::CodeLink::TakeCode(const LoadedCode& quick, const LoadedCode& code) {
  const std::lock_guard lock(mutex_);
  if (space_ != nullptr) space_->TakeCode(quick, code);
}

void CpuSpace::CodeLink::Cut() {
  const std::lock_guard lock(mutex_);
  space_ = nullptr;
}

Result<PreparedKernel> CpuSpace::Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]) {
  return modules_.Prepare(module, kernel, block, [this] { return MakeRoomForCode(); });
}

// If launches of all kernels are in streams one of them will end soon, unless all of them wait.
Result<uint64_t> CpuSpace::MakeRoomForCode() {
  constexpr std::chrono::milliseconds kLook{1};
  constexpr uint64_t kPatienceNs = 10'000'000'000;
  for (const uint64_t since_ns = NowNs(); !modules_.cancelled() && NowNs() - since_ns < kPatienceNs;) {
    LoadedCode gone;  // without the lock
    {
      std::lock_guard lock(mutex_);
      if (modules_.MakeRoomForOne(&gone)) return launched_;
    }
    std::this_thread::sleep_for(kLook);
  }
  return tutti::Fail(
      cuda::CUDA_ERROR_OUT_OF_MEMORY,
      "the client has as many compiled kernels in memory as it may (TUTTI_CPU_LOADED_KERNELS), and launches "
      "of all of them wait");
}

void CpuSpace::LoadAgain(uint32_t kernel) {
  const auto room = MakeRoomForCode();
  auto code = room ? modules_.CodeOf(kernel) : std::unexpected(room.error());
  const LoadedCode kept = code ? *code : nullptr;
  {
    std::lock_guard lock(mutex_);
    modules_.GiveBack(kernel, std::move(code), launched_);
  }
  if (kept != nullptr) modules_.AwaitBetter(kept);
}

// Grids that run go on with the new code at their next block.
void CpuSpace::TakeCode(const LoadedCode& quick, const LoadedCode& code) {
  std::vector<LoadedCode> gone;  // without the lock
  std::lock_guard lock(mutex_);
  modules_.Replace(quick, code, launched_, &gone);
}

}  // namespace tutti::device::cpu
