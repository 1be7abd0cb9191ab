// A client for tests: a window, a Space, a recording sink, tickets in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace tutti::device::cts {

class RecordingSink final : public Sink {
 public:
  struct HostCall {
    uint32_t stream;
    uint64_t token;
    int32_t status;
  };
  struct Fault {
    uint32_t device;
    int32_t status;
    std::string report;
  };

  bool Completed(uint32_t stream, uint64_t ticket) override;
  void Wake(uint32_t stream) override;
  void EventReached(uint32_t event, uint64_t now_ns) override;
  void HostCallReached(uint32_t stream, uint64_t token, int32_t status) override;
  void Printed(std::string_view text) override;
  void AssertFailed(std::string_view line) override;
  void Faulted(uint32_t device, const device::Fault& fault) override;
  void MemoryUsed(uint32_t device, uint64_t bytes) override;
  void Recovered(uint32_t device) override;
  void LetGo(std::function<void()> close) override;

  // As if what is let go could not be closed, until it is.
  void HoldWhatIsLetGo();
  void CloseWhatWasLetGo();

  bool IsDone(uint32_t stream, uint64_t ticket) const;
  // Waits until a condition on the recorded state holds; false after a minute.
  bool WaitDone(uint32_t stream, uint64_t ticket) const;
  bool WaitHostCalls(size_t count) const;
  bool WaitFaults(size_t count) const;
  bool WaitMemory(uint32_t device, uint64_t used_bytes) const;
  bool WaitPrinted(std::string_view text) const;  // all of it

  uint64_t event_ns(uint32_t event) const;
  std::vector<HostCall> host_calls() const;
  std::vector<Fault> faults() const;
  std::string printed() const;
  std::string asserted() const;
  uint64_t memory_used(uint32_t device) const;
  size_t recoveries() const;
  bool went_backwards() const;  // a completion was reported after a later one of its stream

 private:
  template <typename Condition>
  bool WaitFor(Condition condition) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<uint32_t, uint64_t> done_;
  std::map<uint32_t, uint64_t> events_;
  std::vector<HostCall> host_calls_;
  std::vector<Fault> faults_;
  std::string printed_;
  std::string asserted_;
  std::map<uint32_t, uint64_t> memory_;
  bool went_backwards_ = false;
  size_t recoveries_ = 0;
  bool holds_ = false;
  std::vector<std::function<void()>> let_go_;
};

// Limits::sharers of clients that name none.
inline std::string sharers_of_clients;

class Client {
 public:
  explicit Client(Backend* backend, const Limits& limits = {}, std::string_view label = "test");

  Space& space() { return *space_; }
  RecordingSink& sink() { return sink_; }
  void Destroy() { space_.reset(); }

  void CreateStream(uint32_t stream, StreamOptions options = {.non_blocking = true});
  uint64_t Allocate(uint64_t bytes);
  // Only where the device's memory is reached.
  template <typename T>
  T* Array(uint64_t count) {
    return reinterpret_cast<T*>(Allocate(count * sizeof(T)));
  }
  // Copies from and to the window, by way of its host part, in a stream of their own: done when they return.
  void Write(uint64_t address, std::span<const uint8_t> bytes);
  std::vector<uint8_t> Read(uint64_t address, uint64_t bytes);
  template <typename T>
  T ReadValue(uint64_t address) {
    T value;
    std::memcpy(&value, Read(address, sizeof value).data(), sizeof value);
    return value;
  }

  // Loads a module and prepares its first kernel for any block shape; once for each image.
  uint32_t Kernel(std::string_view image, uint32_t device = 0);
  // Whether a kernel of a new module adds to memory of zeros. In stream 1 of device 0.
  bool Computes();

  uint64_t next_ticket() { return ticket_++; }
  // Each returns its ticket.
  uint64_t Launch(uint32_t stream, uint32_t kernel, uint32_t blocks, uint32_t threads, std::vector<uint64_t> arguments,
                  bool cooperative = false, uint32_t dynamic_shared_bytes = 0);
  uint64_t LaunchGrid(uint32_t stream, Grid grid, const std::vector<uint64_t>& arguments);
  uint64_t Mark(uint32_t stream);
  // Waits for everything in the stream; false after a minute.
  bool Synchronize(uint32_t stream) { return sink_.WaitDone(stream, Mark(stream)); }

 private:
  RecordingSink sink_;
  std::unique_ptr<Space> space_;
  uint64_t MustAllocate(wire::MemoryKind kind, uint64_t bytes, uint64_t alignment);
  // Host memory of at least so many bytes.
  uint64_t Staging(uint64_t bytes);
  void CopyNow(uint64_t destination, uint64_t source, uint64_t bytes);
  static constexpr uint32_t kOwnStream = wire::kMaxStreams - 2;

  uint64_t ticket_ = 0;
  uint64_t staging_ = 0, staging_bytes_ = 0;
  bool has_stream_ = false;
  std::map<std::pair<uint32_t, std::string>, uint32_t> kernels_;
};

}  // namespace tutti::device::cts
