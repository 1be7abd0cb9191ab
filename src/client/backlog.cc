#include "client/backlog.h"

#include <algorithm>

#include "client/session.h"
#include "client/stream_slots.h"
#include "wire/backlog.h"

namespace tutti::client {

void Backlog::Add(uint32_t slot, uint64_t ticket, uint32_t weight) {
  ipc::CompletionWaiter& waiter = Session::Get().waiter();
  uint64_t until = 0;
  {
    std::lock_guard lock(mutex_);
    // Threads that submit to one stream may come here in another order than they got their tickets in.
    waiting_.push_back({waiting_.empty() ? ticket : std::max(ticket, waiting_.back().ticket), weight});
    weight_ += weight;
    while (!waiting_.empty() && waiter.Done(slot, waiting_.front().ticket)) {
      weight_ -= waiting_.front().weight;
      waiting_.pop_front();
    }
    const uint32_t most = wire::StreamBacklog(StreamSlots::Get().open());
    if (weight_ <= most) return;
    // Until half of it is free: one sleep for many records.
    uint32_t left = weight_;
    for (const Part& part : waiting_) {
      until = part.ticket;
      left -= part.weight;
      if (left <= most / 2) break;
    }
  }
  // What the session may have ended with, the next call that looks will find.
  (void)waiter.Wait(slot, until);
}

}  // namespace tutti::client
