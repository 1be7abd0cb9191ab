#include "server/channel_sink.h"

#include <algorithm>

#include "cuda/result.h"
#include "os/futex.h"

namespace tutti::server {
namespace {

// Appends `text`, or counts it as dropped if the FIFO has no room.
template <uint32_t kBytes>
void Append(wire::TextFifo<kBytes>& fifo, uint64_t& produced, std::string_view text) {
  const uint64_t used = produced - fifo.consumed.load(std::memory_order_acquire);
  if (used > kBytes || text.size() > kBytes - used) {
    fifo.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const size_t at = produced % kBytes;
  const size_t first = std::min<size_t>(text.size(), kBytes - at);
  std::copy_n(text.begin(), first, fifo.bytes + at);
  std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(first), text.size() - first, fifo.bytes);
  produced += text.size();
  // Pairs with the client's acquire.
  fifo.produced.store(produced, std::memory_order_release);
}

}  // namespace

bool ChannelSink::Completed(uint32_t stream, uint64_t ticket) {
  // seq_cst: pairs with a client that stores `awaited` and then re-checks the word. Its release also publishes what
  // the work wrote.
  completions_->streams[stream].completed.store(ticket + 1, std::memory_order_seq_cst);
  return channel_->sleepers[stream].TakeSleepers(ticket + 1);
}

void ChannelSink::Wake(uint32_t stream) { os::FutexWake(&channel_->sleepers[stream].wake); }

void ChannelSink::StreamBegins(uint32_t stream, uint64_t ticket) {
  completions_->streams[stream].completed.store(ticket, std::memory_order_seq_cst);
  std::lock_guard lock(streams_mutex_);
  streams_.set(stream);
}

void ChannelSink::EventReached(uint32_t event, uint64_t now_ns) {
  // Release: the client reads it after it has seen the record's completion.
  completions_->event_ns[event].store(now_ns, std::memory_order_release);
}

// --- host calls

bool ChannelSink::HostCallRoom() const {
  return host_calls_produced_ - channel_->host_calls.consumed.load(std::memory_order_acquire) < wire::kHostCallSlots;
}

void ChannelSink::AppendHostCall(const wire::HostCall& call) {
  wire::HostCallQueue& queue = channel_->host_calls;
  queue.calls[host_calls_produced_ % wire::kHostCallSlots] = call;
  // Pairs with the client's acquire.
  queue.produced.store(++host_calls_produced_, std::memory_order_release);
  os::FutexWake(&queue.produced);
}

void ChannelSink::HostCallReached(uint32_t stream, uint64_t token, int32_t status) {
  const wire::HostCall call{.token = token, .stream = stream, .status = status};
  std::lock_guard lock(host_call_mutex_);
  if (host_calls_waiting_.empty() && HostCallRoom()) {
    AppendHostCall(call);
  } else {
    host_calls_waiting_.push_back(call);
  }
}

void ChannelSink::HostCallAnswered() {
  std::lock_guard lock(host_call_mutex_);
  while (!host_calls_waiting_.empty() && HostCallRoom()) {
    AppendHostCall(host_calls_waiting_.front());
    host_calls_waiting_.pop_front();
  }
}

size_t ChannelSink::host_calls_waiting() const {
  std::lock_guard lock(host_call_mutex_);
  return host_calls_waiting_.size();
}

// --- texts, errors, memory

void ChannelSink::Printed(std::string_view text) {
  std::lock_guard lock(text_mutex_);
  Append(channel_->print, print_produced_, text);
}

void ChannelSink::AssertFailed(std::string_view line) {
  std::lock_guard lock(text_mutex_);
  Append(channel_->asserts, assert_produced_, line);
}

void ChannelSink::Faulted(uint32_t device, const device::Fault& fault) {
  errors_[device].store(fault.status, std::memory_order_relaxed);
  // Release: a thread that sees the dropped work's completion also sees the error.
  channel_->header.states[device].error.store(fault.status, std::memory_order_release);
  hooks_.faulted(device, fault);
}

void ChannelSink::Recovered(uint32_t device) {
  errors_[device].store(0, std::memory_order_relaxed);
  channel_->header.states[device].error.store(0, std::memory_order_release);
}

void ChannelSink::MemoryUsed(uint32_t device, uint64_t bytes) {
  memory_[device].store(bytes, std::memory_order_relaxed);
  channel_->header.states[device].client_bytes.store(bytes, std::memory_order_relaxed);
  SetUsed(device, hooks_.memory_changed(device));
}

void ChannelSink::MemoryFreed(uint32_t device, uint64_t bytes) {
  channel_->header.states[device].freed_bytes.store(bytes, std::memory_order_relaxed);
}

void ChannelSink::SetUsed(uint32_t device, uint64_t bytes) {
  channel_->header.states[device].used_bytes.store(bytes, std::memory_order_relaxed);
}

void ChannelSink::SetLimit(uint32_t device, uint64_t bytes, int32_t sm_count) {
  channel_->header.states[device].limit_bytes.store(bytes, std::memory_order_relaxed);
  channel_->header.states[device].sm_count.store(sm_count, std::memory_order_relaxed);
}

void ChannelSink::Reply(uint16_t index, int32_t status, const uint64_t (&value)[4]) {
  wire::ReplySlot& slot = channel_->replies[index];
  // Acquire: another thread may have written the last reply here.
  (void)slot.state.load(std::memory_order_acquire);
  slot.status = status;
  std::copy(std::begin(value), std::end(value), std::begin(slot.value));
  // Release: pairs with the client's acquire. The exchange shows whether it sleeps.
  const auto done = static_cast<uint32_t>(wire::ReplyState::kDone);
  if (slot.state.exchange(done, std::memory_order_acq_rel) == static_cast<uint32_t>(wire::ReplyState::kPendingAsleep)) {
    os::FutexWake(&slot.state);
  }
}

void ChannelSink::Refuse(uint16_t slot, const Error& why) {
  Reply(slot, why.code != 0 ? why.code : cuda::CUDA_ERROR_INVALID_VALUE, {0, 0, 0, 0});
}

void ChannelSink::End(int32_t status) {
  channel_->header.ended.store(static_cast<uint32_t>(status), std::memory_order_seq_cst);
  channel_->header.space_wake.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&channel_->header.space_wake);
  os::FutexWake(&channel_->host_calls.produced);
  for (wire::ReplySlot& slot : channel_->replies) os::FutexWake(&slot.state);
  std::lock_guard lock(streams_mutex_);
  for (size_t stream = 0; stream < wire::kMaxStreams; ++stream) {
    if (!streams_.test(stream)) continue;
    channel_->sleepers[stream].wake.fetch_add(1, std::memory_order_seq_cst);
    os::FutexWake(&channel_->sleepers[stream].wake);
  }
}

}  // namespace tutti::server
