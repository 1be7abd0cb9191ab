// Replies to the few records that have one: the client takes a slot, names it in the record, sleeps on it and reads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "ipc/peer_watch.h"
#include "ipc/ring_producer.h"
#include "ipc/spin.h"
#include "wire/channel_layout.h"

namespace tutti::ipc {

struct Reply {
  int32_t status = 0;  // the server's CUresult, or the one the session has ended with
  uint64_t value[4] = {0, 0, 0, 0};
};

// Thread-safe. Owns nothing.
class ReplySlots {
 public:
  ReplySlots(wire::Channel* channel, RingProducer* producer, PeerWatch* watch)
      : slots_(channel->replies), producer_(producer), watch_(watch) {}

  // Submits an answered record and waits for its answer. `meanwhile` is called now and then, first after 20 ms.
  template <typename Body>
  Reply Call(wire::RecordKind kind, const Body& body, const std::function<void()>& meanwhile = nullptr) {
    uint16_t slot;
    if (const int32_t ended = Take(&slot); ended != 0) return Reply{.status = ended};
    producer_->Submit(kind, 0, body, {}, WaitHint::kNow, slot);
    return Await(slot, meanwhile);
  }

 private:
  bool TryTake(uint16_t* slot);
  // A free slot, now kPending; sleeps until there is one if all are taken. Returns 0, or what the session ended with.
  int32_t Take(uint16_t* slot);
  void Free(uint16_t slot);
  // Waits for the answer and frees the slot.
  Reply Await(uint16_t slot, const std::function<void()>& meanwhile);

  wire::ReplySlot* slots_;
  RingProducer* producer_;
  PeerWatch* watch_;
  SpinBudget spin_;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> takers_{0};  // that sleep, or are about to
  std::atomic<uint32_t> freed_{0};  // futex: changes when a slot is freed while there are takers
};

}  // namespace tutti::ipc
