#include "device/cpu/cpu_backend.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>
#include <vector>

#include "base/check.h"
#include "device/common/window_arena.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/device_info.h"
#include "device/cpu/idle_work.h"
#include "device/cpu/schedule/ticker.h"
#include "guest/exec/guest_thread.h"
#include "os/cores.h"
#include "os/memory_nodes.h"

namespace tutti::device::cpu {
namespace {

std::vector<uint32_t> Served(const CpuSettings& settings) {
  if (!settings.served.empty()) return settings.served;
  std::vector<uint32_t> all(settings.devices);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The processors on which each SM stays, so that it finds near to it what it has touched first: where many SMs have a
// core each, on several memory nodes. Within a node the system's scheduler puts them: other servers' SMs may be there.
// Empty: anywhere.
std::vector<std::vector<int>> ProcessorsNear(const CpuSettings& settings) {
  if (std::min(settings.sms, settings.cores) < Scheduler::kManySms) return {};
  const std::vector<std::vector<int>> nodes = os::NodesOfThisThread();
  if (nodes.size() < 2) return {};
  std::vector<std::vector<int>> near;
  for (const size_t node : os::SpreadOverNodes(nodes, settings.sms)) near.push_back(nodes[node]);
  return near;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuSettings& settings, std::shared_ptr<CodeSource> source)
      : source_(std::move(source)),
        plan_(PlanWindows(WindowOf(settings))),
        windows_(plan_.window.bytes, wire::kWindowArenaBase, plan_.smaller_begin),
        smaller_(plan_.smaller.bytes, plan_.smaller_begin, wire::kWindowArenaEnd),
        host_(settings.host_bytes),
        client_host_bytes_(settings.client_host_bytes),
        loaded_kernels_(settings.loaded_kernels),
        page_maker_(settings.nice, os::NodesOfThisThread().size() < 2),
        cores_(static_cast<uint32_t>(Served(settings).size()) * settings.sms, settings.sms, os::CoresOfThisProcess()),
        ticker_([this](uint64_t now_ns) { return Tick(now_ns); }) {
    guest::InstallGuestFaultHandlers();
    // A spinning SM saves a launch the wake-up. Few poll the rings, for each delays the clients' stores to them; the
    // others wait to be called, and leave a core that others want.
    constexpr uint32_t kCoresPerLooker = 4;
    const uint32_t cores = std::thread::hardware_concurrency();
    idle_.most_lookers = cores < 2 ? 0 : std::max(1u, cores / kCoresPerLooker);
    idle_.most_drowsers = cores - std::min(cores, std::max(idle_.most_lookers, 1u));
    for (const uint32_t ordinal : Served(settings)) {
      infos_.push_back(DescribeDevice(settings, ordinal));
      devices_.push_back(std::make_unique<CpuDevice>(settings, infos_.back(), &ticker_, &pool_));
    }
    started_.store(true, std::memory_order_release);
    const std::vector<std::vector<int>> near = ProcessorsNear(settings);
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      for (uint32_t sm = 0; sm < settings.sms; ++sm) {
        devices_[i]->workers.push_back(
            std::make_unique<Worker>(i, sm, settings.nice, near.empty() ? std::vector<int>() : near[sm],
                                     &devices_[i]->scheduler, &pool_, &idle_, &cores_, i * settings.sms + sm));
      }
    }
  }

  ~CpuBackend() override {
    for (auto& device : devices_) {
      for (auto& worker : device->workers) worker->RequestStop();
      device->scheduler.gate().WakeAll();
      device->workers.clear();
    }
  }

  std::span<const wire::DeviceInfo> devices() const override { return infos_; }
  MemoryAccount& memory(uint32_t device) override { return devices_[device]->account; }

  Result<std::unique_ptr<Space>> CreateSpace(const Limits& limits, Sink* sink, std::string_view label) override {
    const auto create_in = [&](WindowArena& arena, const wire::WindowShape& shape) -> Result<std::unique_ptr<Space>> {
      TUTTI_ASSIGN(Window window, arena.Create());
      TUTTI_TRY(WindowExtent::Close(window.base(), window.bytes()));
      return std::make_unique<CpuSpace>(std::move(window), shape, limits, sink, label, devices_, &host_,
                                        client_host_bytes_, &page_maker_, loaded_kernels_, source_.get());
    };
    const bool has_smaller = smaller_.slots() != 0;
    if (has_smaller && limits.small_window) return create_in(smaller_, plan_.smaller);
    auto space = create_in(windows_, plan_.window);
    const bool all_taken = !space && space.error().code == cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED;
    return has_smaller && all_taken ? create_in(smaller_, plan_.smaller) : std::move(space);
  }
  size_t most_spaces() const override { return windows_.slots() + smaller_.slots(); }
  size_t large_spaces() const override { return windows_.slots(); }

  void SetIdleWork(IdleWork work) override {
    TUTTI_CHECK(!idle_.has_work.load());
    idle_.work = std::move(work);
    idle_.has_work.store(true, std::memory_order_release);  // before a doorbell can wake anybody
    if (idle_.work.doorbell_epoll_fd >= 0) devices_[0]->scheduler.gate().WatchDoorbells(idle_.work.doorbell_epoll_fd);
    devices_[0]->scheduler.gate().Advance();
    devices_[0]->scheduler.gate().WakeAll();  // so that sleepers arm the bells
  }

  void ShareTime(uint32_t device, TimePeers* peers) override { devices_[device]->scheduler.SetPeers(peers); }

  std::span<const Policy> policies() const override { return kAllPolicies; }
  Status SetPolicy(Policy policy) override {
    policy_.store(policy);
    for (auto& device : devices_) device->scheduler.SetPolicy(policy);
    return {};
  }
  Policy policy() const override { return policy_.load(); }

  void SetTracing(bool on) override {
    for (auto& device : devices_) {
      for (auto& worker : device->workers) worker->trace().Enable(on);
    }
  }

  std::vector<TraceEvent> TakeTrace() override {
    std::vector<TraceEvent> events;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      for (uint32_t sm = 0; sm < devices_[i]->workers.size(); ++sm)
        devices_[i]->workers[sm]->trace().Take(i, sm, &events);
    }
    std::sort(events.begin(), events.end(),
              [](const TraceEvent& a, const TraceEvent& b) { return a.begin_ns < b.begin_ns; });
    return events;
  }

 private:
  uint64_t Tick(uint64_t now_ns) {
    if (!started_.load(std::memory_order_acquire)) return kNever;
    uint64_t next_ns = kNever;
    for (auto& device : devices_) next_ns = std::min(next_ns, device->scheduler.Tick(now_ns));
    return next_ns;
  }

  const std::shared_ptr<CodeSource> source_;
  const WindowPlan plan_;
  WindowArena windows_, smaller_;
  MemoryAccount host_;
  const uint64_t client_host_bytes_;
  const uint32_t loaded_kernels_;
  HugePageMaker page_maker_;
  std::vector<wire::DeviceInfo> infos_;
  std::atomic<Policy> policy_{Policy::kShare};
  IdleShared idle_;
  SmCores cores_;
  BlockPool pool_;
  std::vector<std::unique_ptr<CpuDevice>> devices_;
  std::atomic<bool> started_{false};  // devices_ is complete
  Ticker ticker_;  // last: its thread looks at the devices
};

}  // namespace

std::unique_ptr<Backend> CreateCpuBackend(const CpuSettings& settings, std::shared_ptr<CodeSource> source) {
  return std::make_unique<CpuBackend>(settings, std::move(source));
}

// Twice the devices' memory or more in the host part, where managed memory lies, and in the device part, so that one
// program can have all of it however fragmented. And as many addresses to reserve as PyTorch's expandable segments
// take: 9/8 of a device for each of its pools. Less only where windows would be too few.
wire::WindowShape WindowOf(const CpuSettings& settings) {
  constexpr uint64_t kLeast = 32ull << 30;
  constexpr uint64_t kMost = std::bit_floor((wire::kWindowArenaEnd - wire::kWindowArenaBase) / wire::kLeastWindows);
  const uint64_t memory = settings.devices * std::min(settings.memory_bytes, kMost);
  const uint64_t bytes = std::clamp(std::bit_ceil(8 * std::min(memory, kMost)), std::min(kLeast, kMost), kMost);
  const uint64_t part = bytes / 16;
  constexpr uint64_t kHostParts = 4, kDeviceParts = 4, kReservedParts = 7;  // one is left for constants
  return {.bytes = bytes,
          .host_bytes = kHostParts * part,
          .device_bytes = kDeviceParts * part,
          .reserved_bytes = kReservedParts * part,
          .device_part_reachable = settings.device_part_reachable};
}

WindowPlan PlanWindows(const wire::WindowShape& window) {
  constexpr uint64_t kWanted = 1024;  // clients
  constexpr uint64_t kArena = wire::kWindowArenaEnd - wire::kWindowArenaBase, kPartOfSmaller = 4, kSmaller = 8;
  const uint64_t windows = kArena / window.bytes;
  const bool is_enough = windows >= kWanted || windows - windows / kPartOfSmaller < wire::kLeastWindows;
  return {.window = window,
          .smaller = window.Over(kSmaller),
          .smaller_begin = wire::kWindowArenaEnd - (is_enough ? 0 : kArena / kPartOfSmaller)};
}

}  // namespace tutti::device::cpu
