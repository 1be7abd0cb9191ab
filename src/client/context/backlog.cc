#include "client/context/backlog.h"

#include <algorithm>

#include "client/context/stream_slots.h"
#include "client/session/attachment.h"
#include "wire/backlog.h"

namespace tutti::client {

// If the pending weight plus `weight` exceeds the bound: the ticket + 1 after which half of the bound is free, so that
// one sleep pays for many records. Else 0. Lock held.
uint64_t Backlog::Full(uint32_t slot, uint32_t weight) {
  const ipc::CompletionWaiter& waiter = Attachment::Get().waiter();
  while (!waiting_.empty() && waiter.Done(slot, waiting_.front().ticket)) {
    weight_ -= waiting_.front().weight;
    waiting_.pop_front();
  }
  const uint32_t most = wire::StreamBacklog(StreamSlots::Get().open());
  if (weight_ + std::min(weight, most / 2) <= most) return 0;
  uint64_t after = 0;
  uint32_t left = weight_;
  for (const Part& part : waiting_) {
    after = part.ticket + 1;
    left -= part.weight;
    if (left <= most / 2) break;
  }
  return after;
}

void Backlog::Add(uint32_t slot, uint64_t ticket, uint32_t weight, bool blocks) {
  uint64_t after = 0;
  {
    std::lock_guard lock(mutex_);
    // Threads that submit to one stream may arrive here in a different order than they got their tickets.
    waiting_.push_back({waiting_.empty() ? ticket : std::max(ticket, waiting_.back().ticket), weight});
    weight_ += weight;
    after = Full(slot, 0);
  }
  // If the session has ended, the next call that checks reports it.
  if (after != 0 && blocks) (void)Attachment::Get().waiter().Wait(slot, after - 1);
}

uint64_t Backlog::RoomAfter(uint32_t slot, uint32_t weight) {
  std::lock_guard lock(mutex_);
  return Full(slot, weight);
}

}  // namespace tutti::client
