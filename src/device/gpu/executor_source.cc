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
#include "wire/device_traits.h"
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

Result<uint64_t> Open(ExecutorLink& executor, const wire::WindowShape& shape, bool fenced, uint64_t wish, int file) {
  TUTTI_ASSIGN(const ExecutorLink::Reply opened, executor.Ask({.kind = executor::RequestKind::kOpenWindow,
                                                               .address = wish,
                                                               .bytes = shape.bytes - shape.host_bytes,
                                                               .host_bytes = shape.host_bytes,
                                                               .flags = fenced ? uint32_t{executor::kFenced} : 0},
                                                              file, ExecutorLink::kStartTimeoutMs));
  const uint64_t base = opened.answer.value;
  constexpr uint64_t kLeast = 1ull << 32, kMost = 1ull << 47;  // where no program has anything of its own
  if (base >= kLeast && base % kSlabBytes == 0 && InRange(base, shape.bytes, kMost)) return base;
  return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, fmt::format("the driver has put a window at {:#x}", base));
}

// Whether the driver has so many addresses in a row there.
bool HasAddresses(ExecutorLink& executor, uint64_t wish, uint64_t bytes) {
  const auto found = executor.Ask({.kind = executor::RequestKind::kFindAddresses, .address = wish, .bytes = bytes}, -1,
                                  ExecutorLink::kStartTimeoutMs);
  return found && found->answer.value == wish;
}

// Where to wish for a window: the first of the places, in which executors and programs have nothing of their own, that
// has the addresses. Where the driver puts one itself may be among mappings of this executor, which others have
// elsewhere.
uint64_t FindArena(ExecutorLink& executor, uint64_t bytes) {
  constexpr uint64_t kPlaces = 4, kApart = (wire::kWindowArenaEnd - wire::kWindowArenaBase) / kPlaces;
  for (uint64_t i = 0; i < kPlaces; ++i) {
    const uint64_t wish = wire::kWindowArenaBase + i * kApart;
    if (HasAddresses(executor, wish, bytes)) return wish;
  }
  return wire::kWindowArenaBase;
}

std::unexpected<Error> NotWanted() {
  return Fail(cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED, "who has asked for an executor wants none any more");
}

uint32_t TraitsOf(const GpuSettings& settings) {
  return (settings.isolation != Isolation::kProcess ? wire::kDeviceSharedContexts : 0u) |
         (settings.fenced ? wire::kDeviceFencedKernels : 0u);
}

// Machine code and lookups in textures cannot be fenced, and with `shared` their client does not move to where they
// could run.
uint32_t TraitsLost(const GpuSettings& settings) {
  return settings.fenced && settings.isolation == Isolation::kShared
             ? wire::kDeviceMachineCode | wire::kDeviceMakesArrays
             : 0u;
}

}  // namespace

Status ExecutorSource::Start(uint64_t host_bytes) {
  TUTTI_ASSIGN(const std::shared_ptr<ExecutorProcess> first, ExecutorProcess::Start(spawner_));
  device_ = first->device();
  device_.traits = (device_.traits | TraitsOf(settings_)) & ~TraitsLost(settings_);
  if (!first->unconfined().empty()) log::Warning("Executors are not confined: {}", first->unconfined());
  TUTTI_TRY(OpenFirst(first, ShapesFor(device_.total_bytes, host_bytes)));
  standby_ = std::make_unique<Standby>(spawner_);
  if (settings_.isolation == Isolation::kProcess) return {};
  shared_ = std::make_unique<SharedExecutors>([this](const std::stop_token& stop) { return EnterNew(stop); });
  FindSlots(*first_->executor);
  first_->slot = slots_->Take();
  return {};
}

// Of the first shape that the driver has room for.
Status ExecutorSource::OpenFirst(const std::shared_ptr<ExecutorProcess>& executor,
                                 std::span<const wire::WindowShape> shapes) {
  TUTTI_ASSIGN(std::shared_ptr<ExecutorLink> link, ExecutorLink::Enter(executor));
  Error last;
  for (const wire::WindowShape& shape : shapes) {
    TUTTI_ASSIGN(os::Fd file, os::CreateMemory("tutti-window", shape.host_bytes));
    const auto base = Open(*link, shape, settings_.fenced, FindArena(*link, shape.bytes), file.get());
    if (base) {
      shape_ = shape;
      base_ = *base;
      first_ = Window{.file = std::move(file), .base = base_, .slot = {}, .group = {}, .executor = std::move(link)};
      return {};
    }
    last = base.error();
    if (last.code != cuda::CUDA_ERROR_OUT_OF_MEMORY) break;
  }
  return std::unexpected(last);
}

// Behind the first window. As many as the driver has room for in a row, so that each executor has it, by and large.
void ExecutorSource::FindSlots(ExecutorLink& executor) {
  stride_ = Whole(shape_.bytes);
  const uint64_t wish = base_ + stride_;
  size_t more = std::max<size_t>(settings_.most_shared, 1) - 1;
  while (more != 0 && !HasAddresses(executor, wish, more * stride_)) more /= 2;
  slots_ = std::make_shared<WindowSlots>(1 + more);
  if (1 + more < settings_.most_shared)
    log::Info("The driver has addresses for {} programs in an executor, of {}", 1 + more, settings_.most_shared);
}

Result<ExecutorSource::Window> ExecutorSource::NewWindow(const std::string& group) {
  Window window;
  {
    std::lock_guard lock(mutex_);
    if (first_) window = std::move(*std::exchange(first_, std::nullopt));
  }
  if (!window.file) {
    TUTTI_ASSIGN(window.file, os::CreateMemory("tutti-window", shape_.host_bytes));
    if (slots_ != nullptr) window.slot = slots_->Take();
    window.base = base_ + window.slot.number() * stride_;
  }
  if (shared_ == nullptr) return window;
  window.group = group;
  if (window.executor != nullptr && !group.empty()) shared_->Add(group, window.slot.number(), *window.executor);
  return window;
}

Result<std::shared_ptr<ExecutorLink>> ExecutorSource::Take(Window* window, bool alone, const Expect& expect,
                                                           const std::stop_token& stop) {
  auto opened = std::exchange(window->executor, nullptr);
  if (opened != nullptr && !opened->HasEnded()) {
    if (window->group.empty()) opened->KeepAlone();
    const bool wanted = expect(opened);
    standby_->Prepare();
    if (wanted) return opened;
    return NotWanted();
  }
  // Where a process's own mappings lie is chance: in another one the addresses may be free.
  constexpr int kMostAttempts = 3;
  Status here;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::shared_ptr<ExecutorLink> link;
    if (attempt == 0 && !alone && !window->group.empty()) {
      TUTTI_ASSIGN(link, shared_->Enter(window->group, window->slot.number(), stop));
    } else {
      TUTTI_ASSIGN(link, EnterNew(stop));
      link->KeepAlone();
    }
    if (!expect(link)) return NotWanted();
    here = OpenHere(*link, *window);
    if (here) return link;
  }
  return std::unexpected(here.error());
}

// It may be killed as it starts, or as it is taken: that is nothing of the client's.
Result<std::shared_ptr<ExecutorLink>> ExecutorSource::EnterNew(const std::stop_token& stop) {
  constexpr int kMostAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    const auto executor = standby_->Take(stop);
    auto entered = executor ? ExecutorLink::Enter(*executor) : std::unexpected(executor.error());
    if (entered) return std::shared_ptr<ExecutorLink>(std::move(*entered));
    const bool has_ended = entered.error().code == cuda::CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (!has_ended || attempt == kMostAttempts) return std::unexpected(entered.error());
  }
}

Status ExecutorSource::OpenHere(ExecutorLink& link, const Window& window) const {
  const wire::DeviceInfo& device = link.executor()->device();
  if (device.total_bytes != device_.total_bytes || std::memcmp(device.uuid, device_.uuid, sizeof device_.uuid) != 0)
    return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the driver has another GPU than when the server started");
  TUTTI_ASSIGN(const uint64_t base, Open(link, shape_, settings_.fenced, window.base, window.file.get()));
  if (base == window.base) return {};
  return Fail(
      cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
      fmt::format("the driver has put a window at {:#x}, where the program has it at {:#x}", base, window.base));
}

}  // namespace tutti::device::gpu
