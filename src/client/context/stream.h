// A stream, seen from the client: a slot of the completion page and the ticket of the last record submitted to it.
//
// The device keeps the order between streams (a legacy stream's work waits for that of the blocking streams, and vice
// versa). The client has to do the same where it does work itself instead of submitting it, such as a synchronous copy:
// Settled() and Settle() cover everything that a new record of this stream would have to wait for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "client/base/answer.h"
#include "client/base/pool.h"
#include "client/context/backlog.h"
#include "client/context/stream_slots.h"
#include "client/session/attachment.h"
#include "cuda/types.h"
#include "wire/backlog.h"

namespace tutti::client {

class Capture;
class Context;

struct StreamOptions {
  bool legacy = false;
  bool per_thread = false;
  bool non_blocking = false;
  bool never_blocks = false;  // whoever submits to it looks for room first (RoomAfter): its backlog makes nobody wait
  int priority = 0;  // lower is more urgent; the device's most urgent at most
};

// Thread-safe except Destroy: as with any handle, no other thread may be using it.
class Stream {
 public:
  Stream(Context& context, const StreamOptions& options, uint32_t slot, uint32_t generation);

  // The stream behind an API handle; null for an invalid one. Not for the default streams' handles
  // (client/entry/called_stream.h).
  static Stream* Find(const void* handle) { return pool_.Find(handle); }

  // Null if there are too many streams.
  static Stream* Create(Context& context, const StreamOptions& options);
  // The device destroys it once the work in it is done.
  static void Destroy(Stream* stream);

  cuda::CUstream handle() { return reinterpret_cast<cuda::CUstream>(this); }
  Context& context() const { return context_; }
  uint32_t slot() const { return slot_; }
  uint64_t id() const { return id_; }
  bool legacy() const { return options_.legacy; }
  bool per_thread() const { return options_.per_thread; }
  bool never_blocks() const { return options_.never_blocks; }
  bool blocking() const { return !options_.non_blocking; }
  int priority() const { return options_.priority; }
  unsigned flags() const { return options_.non_blocking ? cuda::CU_STREAM_NON_BLOCKING : cuda::CU_STREAM_DEFAULT; }

  // Set while the stream is captured into a graph (client/graph/capture.h, which changes it).
  Capture* capture() const { return capture_.load(std::memory_order_acquire); }
  // `forget` is called if the stream ends before the capture.
  using Forget = void (*)(Stream& stream);
  void BeginCapture(Capture* capture, Forget forget) {
    forget_.store(forget, std::memory_order_relaxed);
    capture_.store(capture, std::memory_order_release);
  }
  void EndCapture() { capture_.store(nullptr, std::memory_order_release); }

  // Blocks while the stream's backlog is full (client/context/backlog.h).
  template <typename Body>
  uint64_t Submit(wire::RecordKind kind, const Body& body, std::span<const uint8_t> trailing = {}) {
    return Submit(kind, body, trailing, trailing.size());
  }
  // `argument_bytes`: arguments that the server will copy though they do not follow the record.
  template <typename Body>
  uint64_t Submit(wire::RecordKind kind, const Body& body, std::span<const uint8_t> trailing, uint64_t argument_bytes) {
    const uint64_t ticket = Attachment::Get().ring().Submit(kind, slot_, body, trailing);
    Note(ticket, wire::BacklogWeight(argument_bytes));
    return ticket;
  }
  uint64_t SubmitMarker() {
    const uint64_t ticket = Attachment::Get().ring().Submit(wire::RecordKind::kMarker, slot_);
    Note(ticket, wire::BacklogWeight(0));
    return ticket;
  }

  // The position to wait for if records of this weight would block now (Backlog::RoomAfter); else none.
  StreamMark RoomAfter(uint32_t weight) {
    if (Idle()) return {};
    return {slot_, generation_, backlog_.RoomAfter(slot_, weight + Backlog::kLookEvery)};
  }

  // Work submitted to it from now on comes after the mark.
  void WaitFor(const StreamMark& mark);

  // Whether everything submitted to it is done.
  bool Idle() const {
    const uint64_t next = Next();
    return next == 0 || Attachment::Get().waiter().Done(slot_, next - 1);
  }
  StreamMark LastMark() const { return {slot_, generation_, Next()}; }
  // Like LastMark, but includes the work of other streams that a new record would wait for.
  StreamMark FullMark();
  // The same, for whoever must not wait for what will be behind it: a device that needs to know that is told.
  StreamMark Point();

  bool Settled();
  // 0, or what the session ended with.
  int Settle();

 private:
  bool WaitsForNoOther();

  // The ticket + 1 of the last record, 0: none; in the low bits the weight submitted since the last check of the
  // backlog. One word, so that the launch path needs one exchange.
  static constexpr uint32_t kWeightBits = 10;
  static constexpr uint64_t kWeightMask = (1 << kWeightBits) - 1;
  static_assert(Backlog::kLookEvery <= kWeightMask);

  uint64_t Next() const { return end_.load(std::memory_order_acquire) >> kWeightBits; }

  void Note(uint64_t ticket, uint32_t weight) {
    uint64_t seen = end_.load(std::memory_order_relaxed), now;
    do {
      if ((seen & kWeightMask) + weight >= Backlog::kLookEvery) [[unlikely]]
        return NoteAndLook(ticket, weight);
      now = (std::max(seen >> kWeightBits, ticket + 1) << kWeightBits | (seen & kWeightMask)) + weight;
    } while (!end_.compare_exchange_weak(seen, now, std::memory_order_acq_rel));
  }
  void NoteAndLook(uint64_t ticket, uint32_t weight);

  static constinit Pool<Stream, wire::kMaxStreams> pool_;

  Context& context_;
  const StreamOptions options_;
  const uint32_t slot_;
  const uint32_t generation_;
  const uint64_t id_;
  std::atomic<uint64_t> end_{0};
  Backlog backlog_;
  std::atomic<Capture*> capture_{nullptr};
  std::atomic<Forget> forget_{nullptr};  // set by the first capture, never reset
};

}  // namespace tutti::client
