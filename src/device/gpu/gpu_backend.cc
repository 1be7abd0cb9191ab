#include "device/gpu/gpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/log.h"
#include "cuda/result.h"
#include "device/common/check_policy.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/pilot.h"
#include "device/gpu/standby.h"
#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device::gpu {
namespace {

constexpr Policy kPolicies[] = {Policy::kShare};
constexpr size_t kMostSpaces = 60;

uint64_t Whole(uint64_t bytes) { return AlignUp(bytes, kSlabBytes); }

// Twice the memory in the device part, so that fragmentation does not matter; less where the driver has no room.
std::vector<wire::WindowShape> ShapesFor(uint64_t device_bytes, uint64_t host_bytes) {
  const auto shape = [](uint64_t host, uint64_t device) {
    return wire::WindowShape{.bytes = Whole(host) + Whole(device),
                             .host_bytes = Whole(host),
                             .device_bytes = Whole(device),
                             .reserved_bytes = 0,
                             .device_part_reachable = false};
  };
  constexpr uint64_t kLeastHost = 256ull << 20;
  const uint64_t host = std::max(std::min(host_bytes, device_bytes), kLeastHost);
  return {shape(host, 2 * device_bytes), shape(host / 2, device_bytes + device_bytes / 4),
          shape(std::max(host / 8, kLeastHost), device_bytes)};
}

struct OpenedWindow {
  uint64_t base = 0;
  wire::WindowShape shape;
  os::Fd file;
};

// A window in an executor's context; of this shape, or, if there is none, of the first that the driver has room for.
Result<OpenedWindow> OpenWindow(ExecutorLink& executor, std::span<const wire::WindowShape> shapes) {
  Error last;
  for (const wire::WindowShape& shape : shapes) {
    TUTTI_ASSIGN(os::Fd file, os::CreateMemory("tutti-window", shape.host_bytes));
    const auto opened = executor.Ask({.kind = executor::RequestKind::kOpenWindow,
                                      .address = wire::kWindowArenaBase,
                                      .bytes = shape.device_bytes,
                                      .host_bytes = shape.host_bytes},
                                     file.get());
    if (!opened) {
      last = opened.error();
      if (last.code != cuda::CUDA_ERROR_OUT_OF_MEMORY) break;
      continue;
    }
    const uint64_t base = opened->answer.value;
    constexpr uint64_t kLeast = 1ull << 32, kMost = 1ull << 47;  // where no program has anything of its own
    if (base < kLeast || base % kSlabBytes != 0 || !InRange(base, shape.bytes, kMost))
      return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, fmt::format("the driver has put a window at {:#x}", base));
    return OpenedWindow{.base = base, .shape = shape, .file = std::move(file)};
  }
  return std::unexpected(last);
}

class GpuBackend final : public Backend {
 public:
  GpuBackend(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner)
      : settings_(settings), spawner_(std::move(spawner)), host_(settings.host_bytes) {}

  Status Start() {
    TUTTI_ASSIGN(auto first, ExecutorLink::Start(spawner_, pilot_.bell()));
    info_ = first->device();
    account_ = std::make_unique<MemoryAccount>(info_.total_bytes);
    // All windows have the shape of the first one, which its executor keeps for the first Space.
    TUTTI_ASSIGN(first_window_, OpenWindow(*first, ShapesFor(info_.total_bytes, settings_.client_host_bytes)));
    first_executor_ = std::move(first);
    window_ = first_window_->shape;
    standby_ = std::make_unique<Standby>(spawner_, pilot_.bell(), nullptr);
    log::Info("The driver of the GPU is {}", settings_.vendor);
    log::Warning(
        "On a GPU memory limits hold; active thread percentages, partitions, priorities and time limits of kernels do "
        "not yet");
    return {};
  }

  std::span<const wire::DeviceInfo> devices() const override { return {&info_, 1}; }
  const wire::WindowShape& window() const override { return window_; }
  MemoryAccount& memory(uint32_t) override { return *account_; }

  Result<std::unique_ptr<Space>> CreateSpace(const Limits& limits, Sink* sink, std::string_view) override {
    std::unique_ptr<ExecutorLink> executor;
    std::optional<OpenedWindow> window;
    {
      std::lock_guard lock(mutex_);
      executor = std::move(first_executor_);
      window = std::exchange(first_window_, std::nullopt);
    }
    if (executor == nullptr || executor->HasEnded()) {
      TUTTI_ASSIGN(executor, standby_->Take());
      if (executor->device().total_bytes != info_.total_bytes ||
          std::memcmp(executor->device().uuid, info_.uuid, sizeof info_.uuid) != 0)
        return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the driver has another GPU than when the server started");
      TUTTI_ASSIGN(window, OpenWindow(*executor, {&window_, 1}));
    } else {
      standby_->Prepare();
    }
    TUTTI_ASSIGN(HostPart host_part,
                 HostPart::Create(executor.get(), window->base, std::move(window->file), window_.host_bytes));
    return std::make_unique<GpuSpace>(std::move(executor), window->base, window_, std::move(host_part), limits, sink,
                                      account_.get(), &host_, settings_.client_host_bytes, &pilot_);
  }
  size_t most_spaces() const override { return kMostSpaces; }

  void SetIdleWork(IdleWork work) override { pilot_.SetIdleWork(std::move(work)); }

  std::span<const Policy> policies() const override { return kPolicies; }
  Status SetPolicy(Policy policy) override { return CheckPolicy(policy, policies()); }
  Policy policy() const override { return kPolicies[0]; }
  void SetTracing(bool) override {}
  std::vector<TraceEvent> TakeTrace() override { return {}; }

 private:
  const GpuSettings settings_;
  const std::shared_ptr<os::Spawner> spawner_;
  MemoryAccount host_;
  wire::DeviceInfo info_{};
  wire::WindowShape window_;
  std::unique_ptr<MemoryAccount> account_;
  Pilot pilot_;
  std::mutex mutex_;
  std::unique_ptr<ExecutorLink> first_executor_;
  std::optional<OpenedWindow> first_window_;
  std::unique_ptr<Standby> standby_;
};

}  // namespace

Result<std::unique_ptr<Backend>> CreateGpuBackend(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner) {
  auto backend = std::make_unique<GpuBackend>(settings, std::move(spawner));
  TUTTI_TRY(backend->Start());
  return backend;
}

}  // namespace tutti::device::gpu
