// One client's part of the null device (null_backend.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "device/common/window_arena.h"
#include "device/device.h"

namespace tutti::device::null {

inline constexpr wire::WindowShape kNullWindow{
    .bytes = 5ull << 30, .host_bytes = 1ull << 30, .device_bytes = 4ull << 30};
inline constexpr uint64_t kNullMemoryBytes = 3ull << 30;
inline constexpr uint32_t kNullThreadsPerSm = 2048;

class NullSpace final : public Space {
 public:
  NullSpace(Window window, const Limits& limits, Sink* sink, MemoryAccount* account);
  ~NullSpace() override;

  const wire::WindowShape& window() const override { return kNullWindow; }
  uint64_t window_base() const override { return window_.base(); }
  int window_fd() const override { return window_.fd(); }
  uint8_t* Reached(uint64_t address, uint64_t bytes) override {
    return window_.Reached(address, bytes, kNullWindow.unreached_begin());
  }
  Result<uint64_t> Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) override;
  Status Free(uint64_t address) override;
  Result<uint64_t> Word(uint64_t, uint32_t, uint64_t) override { return 0; }
  // Its memory holds nothing that could be shared.
  Result<uint64_t> Reserve(uint32_t, uint64_t, uint64_t, uint64_t) override;
  Result<std::shared_ptr<SharedMemory>> Share(uint64_t, AtEnd) override;
  Result<std::shared_ptr<SharedMemory>> CreateHostMemory(uint64_t) override;
  Status Map(uint64_t, std::shared_ptr<SharedMemory>, bool) override;
  Status Unmap(uint64_t, uint64_t) override;
  Status CreateStream(uint32_t stream, const StreamOptions& options) override;
  Status DestroyStream(uint32_t stream) override;
  Status Launch(uint32_t stream, uint64_t ticket, const Grid& grid) override;
  Status Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody& copy) override;
  Status Fill(uint32_t stream, uint64_t ticket, const wire::FillBody& fill) override;
  Status RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) override;
  Status Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) override;
  Status HostCall(uint32_t stream, uint64_t ticket, uint64_t token) override;
  Status Mark(uint32_t stream, uint64_t ticket) override;
  Status FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) override;
  // Bodies run once, as far as anything runs here.
  Result<uint64_t> CreateCondition(uint32_t) override { return ++conditions_; }
  Status DestroyCondition(uint64_t) override { return {}; }
  Status SetCondition(uint32_t stream, uint64_t ticket, uint64_t, uint32_t) override { return Mark(stream, ticket); }
  Status BeginConditional(uint32_t stream, uint64_t ticket, uint64_t, wire::ConditionalKind) override {
    return Mark(stream, ticket);
  }
  Status BeginBody(uint32_t stream, uint64_t ticket, uint32_t) override { return Mark(stream, ticket); }
  Status EndConditional(uint32_t stream, uint64_t ticket, bool) override { return Mark(stream, ticket); }
  Status HostCallDone(uint32_t stream, uint64_t token) override;
  Result<LoadedModule> LoadModule(uint32_t device, std::span<const uint8_t> image) override;
  Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]) override;
  Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                               uint32_t dynamic_shared_bytes) override;
  Status UnloadModule(uint32_t module) override;
  void Reset(uint32_t device) override;
  void SetLimits(const Limits& limits) override;
  Status LimitContext(uint32_t, uint32_t, double) override { return {}; }
  Status LimitHeap(uint32_t, uint64_t) override { return {}; }
  void Abandon() override {}
  metrics::ClientCounters& counters(uint32_t) override { return counters_; }

 private:
  enum class Kind { kNothing, kEvent, kWait, kHostCall };
  struct Piece {
    Kind kind = Kind::kNothing;
    uint64_t ticket = 0;
    uint64_t number = 0;  // event, token, or the other stream
    uint64_t other_ticket = 0;
    bool reached = false;  // a host call that waits for its answer
  };
  struct Stream {
    std::deque<Piece> queue;
    uint64_t done = 0;  // ticket + 1
    bool destroyed = false;
  };

  Status Add(uint32_t stream, const Piece& piece);
  // Completes what can be completed; true if a stream advanced.
  bool Advance(uint32_t number, Stream& stream);
  void AdvanceAll();
  bool Reserve(uint64_t bytes);
  void Unreserve(uint64_t bytes);
  void CountUse(uint64_t bytes);

  const Window window_;
  Sink* sink_;
  MemoryAccount* account_;
  const MemoryGroups groups_;
  metrics::ClientCounters counters_;
  uint64_t conditions_ = 0;
  std::atomic<uint64_t> limit_bytes_;
  struct Taken {
    uint64_t end;
    bool counted;  // against the device and the client's limit
  };
  std::map<uint64_t, Taken> taken_;  // by begin
  std::atomic<uint64_t> used_bytes_{0};
  std::map<uint32_t, Stream> streams_;
  std::vector<uint32_t> ending_;  // destroyed, with work left
  size_t queued_ = 0;             // pieces in all streams

  std::mutex modules_mutex_;
  std::map<uint32_t, size_t> modules_;  // how many kernels each has
  uint32_t next_module_ = 1;
};

}  // namespace tutti::device::null
