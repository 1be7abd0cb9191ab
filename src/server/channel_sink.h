// Writes into a client's channel: completions, events, host calls, texts, errors. Called by the device's threads, many
// at once, and by the thread that holds the session.
//
// The client maps the channel writable, so the server trusts nothing it reads back: state it needs again is kept in
// private memory. It reads the words that the client owns (`consumed`, `awaited`), where a false value hurts the client
// alone.
#pragma once

#include <atomic>
#include <bitset>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "device/device.h"
#include "wire/channel_layout.h"

namespace tutti::server {

// Thread-safe. Channel and completions outlive it.
class ChannelSink final : public device::Sink {
 public:
  struct Hooks {
    // This client's work on a device has failed. For the log.
    std::function<void(uint32_t device, const device::Fault& fault)> faulted;
    // Memory use of this client has changed; returns what all clients use on `device`.
    std::function<uint64_t(uint32_t device)> memory_changed;
    // device::Sink::LetGo
    std::function<void(std::function<void()> close)> let_go;
  };

  ChannelSink(wire::Channel* channel, wire::Completions* completions, Hooks hooks)
      : channel_(channel), completions_(completions), hooks_(std::move(hooks)) {}

  bool Completed(uint32_t stream, uint64_t ticket) override;
  void Wake(uint32_t stream) override;
  void EventReached(uint32_t event, uint64_t now_ns) override;
  void HostCallReached(uint32_t stream, uint64_t token, int32_t status) override;
  void Printed(std::string_view text) override;
  void AssertFailed(std::string_view line) override;
  void Faulted(uint32_t device, const device::Fault& fault) override;
  void Recovered(uint32_t device) override;
  void MemoryUsed(uint32_t device, uint64_t bytes) override;
  void MemoryFreed(uint32_t device, uint64_t bytes) override;
  void LetGo(std::function<void()> close) override { hooks_.let_go(std::move(close)); }

  // The client has answered a host call: it may have made room for one that waited.
  void HostCallAnswered();
  // Host calls that wait for room in the channel.
  size_t host_calls_waiting() const;

  // A new stream takes this number: tickets below `ticket` count as done.
  void StreamBegins(uint32_t stream, uint64_t ticket);

  void Reply(uint16_t slot, int32_t status, const uint64_t (&value)[4]);
  // A failure never reads as success: one of the system, which has no CUresult, is CUDA_ERROR_INVALID_VALUE.
  void Refuse(uint16_t slot, const Error& why);
  // The value alone, or why there is none.
  template <typename T>
  void ReplyWith(uint16_t slot, const Result<T>& result) {
    if (!result) return Refuse(slot, result.error());
    if constexpr (std::is_void_v<T>)
      Reply(slot, 0, {0, 0, 0, 0});
    else
      Reply(slot, 0, {*result, 0, 0, 0});
  }
  void SetLimit(uint32_t device, uint64_t bytes, int32_t sm_count);
  void SetUsed(uint32_t device, uint64_t bytes);  // by all clients
  // The sticky error of a device, 0 if none.
  int32_t error(uint32_t device) const { return errors_[device].load(std::memory_order_relaxed); }
  uint64_t memory_bytes(uint32_t device) const { return memory_[device].load(std::memory_order_relaxed); }

  // Ends the session for the client: stores `status` and wakes every sleeper.
  void End(int32_t status);

 private:
  void AppendHostCall(const wire::HostCall& call);
  bool HostCallRoom() const;

  wire::Channel* channel_;
  wire::Completions* completions_;
  Hooks hooks_;

  mutable std::mutex host_call_mutex_;
  uint32_t host_calls_produced_ = 0;
  std::deque<wire::HostCall> host_calls_waiting_;

  std::mutex text_mutex_;
  uint64_t print_produced_ = 0;
  uint64_t assert_produced_ = 0;

  std::atomic<int32_t> errors_[wire::kMaxDevices] = {};
  std::atomic<uint64_t> memory_[wire::kMaxDevices] = {};
  std::mutex streams_mutex_;
  std::bitset<wire::kMaxStreams> streams_;  // that have ever been created
};

}  // namespace tutti::server
