#include "device/gpu/executor_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/log.h"
#include "cuda/result.h"
#include "device/gpu/slabs.h"
#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device::gpu {
namespace {

uint64_t Whole(uint64_t bytes) { return AlignUp(bytes, kSlabBytes); }

// Twice the memory in the device part, so that fragmentation does not matter. Addresses to reserve several times, since
// programs reserve them for what they may come to need. Less where the driver has no room.
std::vector<wire::WindowShape> ShapesFor(uint64_t device_bytes, uint64_t host_bytes) {
  const auto shape = [](uint64_t host, uint64_t device, uint64_t reserved) {
    return wire::WindowShape{.bytes = Whole(host) + Whole(device) + Whole(reserved),
                             .host_bytes = Whole(host),
                             .device_bytes = Whole(device),
                             .reserved_bytes = Whole(reserved),
                             .device_part_reachable = false};
  };
  constexpr uint64_t kLeastHost = 256ull << 20;
  const uint64_t host = std::max(std::min(host_bytes, device_bytes), kLeastHost);
  return {shape(host, 2 * device_bytes, 4 * device_bytes),
          shape(host / 2, device_bytes + device_bytes / 4, device_bytes),
          shape(std::max(host / 8, kLeastHost), device_bytes, device_bytes / 2)};
}

Result<uint64_t> Open(ExecutorLink& executor, const wire::WindowShape& shape, uint64_t wish, int file) {
  TUTTI_ASSIGN(const ExecutorLink::Reply opened, executor.Ask({.kind = executor::RequestKind::kOpenWindow,
                                                               .address = wish,
                                                               .bytes = shape.bytes - shape.host_bytes,
                                                               .host_bytes = shape.host_bytes},
                                                              file, ExecutorLink::kStartTimeoutMs));
  const uint64_t base = opened.answer.value;
  constexpr uint64_t kLeast = 1ull << 32, kMost = 1ull << 47;  // where no program has anything of its own
  if (base >= kLeast && base % kSlabBytes == 0 && InRange(base, shape.bytes, kMost)) return base;
  return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, fmt::format("the driver has put a window at {:#x}", base));
}

}  // namespace

Status ExecutorSource::Start(uint64_t host_bytes) {
  TUTTI_ASSIGN(std::shared_ptr<ExecutorLink> first, ExecutorLink::Start(spawner_));
  device_ = first->device();
  if (!first->unconfined().empty()) log::Warning("Executors are not confined: {}", first->unconfined());
  TUTTI_TRY(OpenFirst(std::move(first), ShapesFor(device_.total_bytes, host_bytes)));
  standby_ = std::make_unique<Standby>(spawner_);
  return {};
}

// Of the first shape that the driver has room for.
Status ExecutorSource::OpenFirst(std::shared_ptr<ExecutorLink> executor, std::span<const wire::WindowShape> shapes) {
  Error last;
  for (const wire::WindowShape& shape : shapes) {
    TUTTI_ASSIGN(os::Fd file, os::CreateMemory("tutti-window", shape.host_bytes));
    const auto base = Open(*executor, shape, wire::kWindowArenaBase, file.get());
    if (base) {
      shape_ = shape;
      base_ = *base;
      first_ = Window{.file = std::move(file), .executor = std::move(executor)};
      return {};
    }
    last = base.error();
    if (last.code != cuda::CUDA_ERROR_OUT_OF_MEMORY) break;
  }
  return std::unexpected(last);
}

Result<ExecutorSource::Window> ExecutorSource::NewWindow() {
  {
    std::lock_guard lock(mutex_);
    if (first_) return std::move(*std::exchange(first_, std::nullopt));
  }
  TUTTI_ASSIGN(os::Fd file, os::CreateMemory("tutti-window", shape_.host_bytes));
  return Window{.file = std::move(file), .executor = nullptr};
}

Result<std::shared_ptr<ExecutorLink>> ExecutorSource::Take(Window* window, const Expect& expect,
                                                           const std::stop_token& stop) {
  auto opened = std::exchange(window->executor, nullptr);
  if (opened != nullptr && !opened->HasEnded()) {
    expect(opened);
    standby_->Prepare();
    return opened;
  }
  // Where a process's own mappings lie is chance: in another one the addresses may be free.
  constexpr int kMostAttempts = 3;
  Status here;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    TUTTI_ASSIGN(std::shared_ptr<ExecutorLink> executor, standby_->Take(stop));
    expect(executor);
    here = OpenHere(*executor, window->file.get());
    if (here) return executor;
  }
  return std::unexpected(here.error());
}

Status ExecutorSource::OpenHere(ExecutorLink& executor, int file) const {
  if (executor.device().total_bytes != device_.total_bytes ||
      std::memcmp(executor.device().uuid, device_.uuid, sizeof device_.uuid) != 0)
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the driver has another GPU than when the server started");
  TUTTI_ASSIGN(const uint64_t base, Open(executor, shape_, base_, file));
  if (base == base_) return {};
  return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
              fmt::format("the driver has put a window at {:#x}, where others are at {:#x}", base, base_));
}

}  // namespace tutti::device::gpu
