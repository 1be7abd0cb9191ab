// The client's end of the ring (wire/ring_layout.h): any thread of the process may submit.
//
// Submit is the hot path of every asynchronous driver call and stays inline and short: one fetch_add that fixes the
// record's place in the order, a copy, one publishing exchange, one load of the bell. The slow paths (no room, a server
// to wake) are out of line in ring_producer.cc. There are no locks, so a fork at any moment leaves none held.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/tsan.h"
#include "ipc/peer_watch.h"
#include "os/file_id.h"
#include "wire/channel_layout.h"

namespace tutti::ipc {

// kNow: the caller is about to wait for the record, so a server that only polls the ring now and then is woken at once.
enum class WaitHint { kLater, kNow };

// Thread-safe. Owns nothing; channel, doorbell and watch outlive it.
class RingProducer {
 public:
  RingProducer(wire::Channel* channel, int doorbell_fd, PeerWatch* watch)
      : header_(&channel->header),
        ring_(channel->ring),
        doorbell_fd_(doorbell_fd),
        doorbell_identity_(os::FileId::Of(doorbell_fd)),
        watch_(watch) {}

  // Tells the thread sanitizer that the server's answer happens after everything submitted so far.
  void AfterWhatWasSubmitted() const { OrderedAfter(&header_->head); }
  // Puts a record into the ring and returns its ticket. Blocks while the ring is full. Never fails: once the session
  // has ended the record is dropped, and waiting for it returns the session's error. `body` and `trailing` together
  // take at most kBodyBytes + (kMaxRecordSlots - 1) * kContinuationBytes. `reply`: for the kinds that are answered.
  template <typename Body>
    requires(std::is_trivially_copyable_v<Body> && sizeof(Body) <= wire::kBodyBytes)
  uint64_t Submit(wire::RecordKind kind, uint32_t stream, const Body& body, std::span<const uint8_t> trailing = {},
                  WaitHint hint = WaitHint::kLater, uint16_t reply = 0) {
    constexpr size_t kRoom = wire::kBodyBytes - sizeof(Body);
    const uint32_t slots = trailing.size() <= kRoom ? 1 : SlotsFor(sizeof(Body) + trailing.size());
    const uint64_t ticket = header_->tail.fetch_add(slots, std::memory_order_relaxed);
    if (!HasRoom(ticket + slots) && !AwaitRoom(ticket + slots)) return ticket;
    OrderedAfter(&header_->head);  // the consumer has taken what other threads wrote here a lap ago

    wire::Slot& slot = SlotAt(ticket);
    slot.head.kind = kind;
    slot.head.slots = static_cast<uint8_t>(slots);
    slot.head.reply = reply;
    slot.head.stream = stream;
    std::memcpy(slot.body, &body, sizeof body);
    if (slots == 1) {
      if (!trailing.empty()) std::memcpy(slot.body + sizeof body, trailing.data(), trailing.size());
    } else {
      std::memcpy(slot.body + sizeof body, trailing.data(), kRoom);
      FillContinuation(ticket + 1, trailing.subspan(kRoom));
    }
    OrderedBefore(&header_->head);
    // seq_cst with the load below: pairs with the server's store of `doorbell` and its second look at `published`.
    slot.head.published.store(ticket + 1, std::memory_order_seq_cst);
    const auto bell = static_cast<wire::Doorbell>(header_->doorbell.load(std::memory_order_seq_cst));
    if (bell != wire::Doorbell::kWatched && (bell != wire::Doorbell::kLingering || hint == WaitHint::kNow)) RingBell();
    return ticket;
  }

  // A record without a body.
  uint64_t Submit(wire::RecordKind kind, uint32_t stream, WaitHint hint = WaitHint::kLater) {
    struct Nothing {};
    return Submit(kind, stream, Nothing{}, {}, hint);
  }

  // Called before sleeping until the server has processed something that is in the ring.
  void Nudge() {
    if (header_->doorbell.load(std::memory_order_seq_cst) != static_cast<uint32_t>(wire::Doorbell::kWatched))
      RingBell();
  }
  // Rings whatever the doorbell's state: the backstop after a sleep that timed out.
  void ForceBell();

 private:
  static constexpr uint32_t SlotsFor(size_t bytes) {
    return static_cast<uint32_t>(1 +
                                 (bytes - wire::kBodyBytes + wire::kContinuationBytes - 1) / wire::kContinuationBytes);
  }
  wire::Slot& SlotAt(uint64_t position) { return ring_[position % wire::kRingSlots]; }

  // Positions below `end` may be written: the lap before has been consumed.
  bool HasRoom(uint64_t end) {
    if (end <= seen_head_.load(std::memory_order_acquire) + wire::kRingSlots) return true;
    const uint64_t head = header_->head.load(std::memory_order_acquire);
    // Release: a thread that relies on the head another thread saw must also come after what that thread acquired.
    seen_head_.store(head, std::memory_order_release);
    return end <= head + wire::kRingSlots;
  }
  bool AwaitRoom(uint64_t end);
  void FillContinuation(uint64_t position, std::span<const uint8_t> bytes);
  void RingBell();

  wire::ChannelHeader* header_;
  wire::Slot* ring_;
  int doorbell_fd_;
  const os::FileId doorbell_identity_;
  PeerWatch* watch_;
  // The last head any producer has seen: most Submits then need not touch the consumer's cache line.
  alignas(64) std::atomic<uint64_t> seen_head_{0};
};

}  // namespace tutti::ipc
