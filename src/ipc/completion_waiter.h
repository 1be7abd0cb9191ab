// The client's waits for a stream's work: they read the completion page and send no message.
// completion_interleavings_test.cc repeats Wait line by line and checks every interleaving for lost wake-ups; change
// both together.
#pragma once

#include <cstdint>

#include "ipc/peer_watch.h"
#include "ipc/ring_producer.h"
#include "ipc/spin.h"
#include "wire/channel_layout.h"

namespace tutti::ipc {

// Thread-safe. Owns nothing.
class CompletionWaiter {
 public:
  CompletionWaiter(wire::Channel* channel, const wire::Completions* completions, RingProducer* producer,
                   PeerWatch* watch)
      : words_(completions->streams), sleepers_(channel->sleepers), producer_(producer), watch_(watch) {}

  // Whether the record `ticket` of `stream`, and all before it in that stream, are done. One load.
  bool Done(uint32_t stream, uint64_t ticket) const {
    // Acquire: pairs with the server's store, so that what the work wrote into the window is seen.
    if (words_[stream].completed.load(std::memory_order_acquire) <= ticket) return false;
    producer_->AfterWhatWasSubmitted();  // by this process: a host function, and what follows it in its stream
    return true;
  }
  // Done() for callers that poll: it also rings for the server, should the record still lie in the ring.
  bool Poll(uint32_t stream, uint64_t ticket) const {
    if (Done(stream, ticket)) return true;
    producer_->Nudge();
    return false;
  }
  // Blocks until it is done or the session has ended. Returns 0, or the CUresult the session ended with.
  int32_t Wait(uint32_t stream, uint64_t ticket);

 private:
  const wire::Completions::Word* words_;
  wire::StreamSleepers* sleepers_;
  RingProducer* producer_;
  PeerWatch* watch_;
  SpinBudget spin_;
};

}  // namespace tutti::ipc
