#include "device/null/null_backend.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "device/common/check_policy.h"
#include "device/null/null_space.h"
#include "os/fd.h"
#include "os/thread.h"

namespace tutti::device::null {
namespace {

constexpr uint64_t kSpinNs = 50'000;  // without finding a record, before the thread sleeps

wire::DeviceInfo Describe() {
  wire::DeviceInfo info{.total_bytes = kNullMemoryBytes,
                        .traits = wire::kDeviceAnyShape | wire::kDeviceAsksOccupancy,
                        .sm_group = 1,
                        .most_urgent = -1};
  std::strncpy(info.name, "Tutti null device", sizeof info.name - 1);
  std::memcpy(info.uuid, "tutti-null-dev-0", sizeof info.uuid);
  const std::pair<int, int> attributes[] = {
      {1, 1024},                                // MAX_THREADS_PER_BLOCK
      {2, 1024},       {3, 1024},  {4, 64},     // MAX_BLOCK_DIM_*
      {5, 0x7fffffff}, {6, 65535}, {7, 65535},  // MAX_GRID_DIM_*
      {8, 48 << 10},                            // MAX_SHARED_MEMORY_PER_BLOCK
      {10, 32},                                 // WARP_SIZE
      {16, 2},                                  // MULTIPROCESSOR_COUNT
      {41, 1},                                  // UNIFIED_ADDRESSING
      {75, 8},         {76, 0},                 // COMPUTE_CAPABILITY_*
  };
  for (const auto& [attribute, value] : attributes) info.attributes[attribute] = value;
  return info;
}

constexpr Policy kPolicies[] = {Policy::kShare};

class NullBackend final : public Backend {
 public:
  NullBackend() : info_(Describe()), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~NullBackend() override { StopThread(); }

  std::span<const wire::DeviceInfo> devices() const override { return {&info_, 1}; }
  MemoryAccount& memory(uint32_t) override { return account_; }

  Result<std::unique_ptr<Space>> CreateSpace(const Limits& limits, Sink* sink, std::string_view) override {
    TUTTI_ASSIGN(Window window, windows_.Create());
    return std::make_unique<NullSpace>(std::move(window), limits, sink, &account_);
  }
  size_t most_spaces() const override { return windows_.slots(); }

  void SetIdleWork(IdleWork work) override {
    StopThread();
    if (!work.poll) return;
    work_ = std::move(work);
    thread_ = os::StartThread("null-device", [this] { RunIdle(); });
  }

  std::span<const Policy> policies() const override { return kPolicies; }
  Status SetPolicy(Policy policy) override { return CheckPolicy(policy, policies()); }
  Policy policy() const override { return kPolicies[0]; }
  void SetTracing(bool) override {}
  std::vector<TraceEvent> TakeTrace() override { return {}; }

 private:
  void StopThread() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_seq_cst);
    eventfd_write(wake_.get(), 1);
    thread_.join();
    stop_.store(false, std::memory_order_seq_cst);
  }

  void RunIdle() {
    uint64_t found_ns = NowNs();
    while (!stop_.load(std::memory_order_seq_cst)) {
      if (work_.poll()) {
        found_ns = NowNs();
      } else if (NowNs() - found_ns < kSpinNs) {
        CpuRelax();
      } else if (!work_.arm()) {
        Sleep();
        found_ns = NowNs();
      }
    }
    work_.leave();
  }

  void Sleep() {
    pollfd wait[] = {{work_.doorbell_epoll_fd, POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(wait, 2, -1);
    work_.woke();
    if (wait[0].revents != 0) work_.rang();
  }

  wire::DeviceInfo info_;
  WindowArena windows_{kNullWindow.bytes};
  MemoryAccount account_{kNullMemoryBytes};
  IdleWork work_;
  os::Fd wake_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Backend> CreateNullBackend() { return std::make_unique<NullBackend>(); }

}  // namespace tutti::device::null
