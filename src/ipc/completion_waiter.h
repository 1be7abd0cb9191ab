// Waits in the client for work of a stream, by the completion page alone: no message is sent. That no wake is lost is
// tried in every order of steps: completion_interleavings_test.cc, which has Wait line by line. Change both.
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
  CompletionWaiter(wire::Channel* channel, RingProducer* producer, PeerWatch* watch)
      : streams_(channel->streams), producer_(producer), watch_(watch) {}

  // Whether the record `ticket` of `stream`, and all before it in that stream, are done. One load.
  bool Done(uint32_t stream, uint64_t ticket) const {
    // Acquire: pairs with the server's store, so that what the work wrote into the window is seen.
    if (streams_[stream].completed.load(std::memory_order_acquire) <= ticket) return false;
    producer_->AfterWhatWasSubmitted();  // by this process: a host function and what came after it in its stream
    return true;
  }
  // The same, by somebody who keeps asking: the server will look at the ring, should it lie there still.
  bool Poll(uint32_t stream, uint64_t ticket) const {
    if (Done(stream, ticket)) return true;
    producer_->Nudge();
    return false;
  }
  // Returns when it is done, or the session has ended. Returns 0, or the CUresult the session ended with.
  int32_t Wait(uint32_t stream, uint64_t ticket);

 private:
  wire::StreamCompletion* streams_;
  RingProducer* producer_;
  PeerWatch* watch_;
  SpinBudget spin_;
};

}  // namespace tutti::ipc
