#include "client/context/stream_slots.h"

#include <algorithm>

#include "client/session/attachment.h"

namespace tutti::client {

bool StreamMark::Reached() const {
  if (next == 0 || StreamSlots::Get().GenerationOf(slot) != generation) return true;
  return Attachment::Get().waiter().Poll(slot, next - 1);
}

// A program that learns of the session's end may free what its work reads and writes.
int StreamMark::Wait() const {
  if (Reached()) return 0;
  const int ended = Attachment::Get().waiter().Wait(slot, next - 1);
  if (ended != 0) Attachment::WindUp();
  return ended;
}

StreamSlots& StreamSlots::Get() {
  static auto* const instance = new StreamSlots;
  return *instance;
}

// A stream that was destroyed may wait for as long as the program runs (for a value, say), so the oldest one alone says
// nothing of the others.
StreamSlots::Handle StreamSlots::Take() {
  constexpr size_t kFewLooks = 8;
  std::lock_guard lock(mutex_);
  const size_t most = used_ == wire::kMaxStreams ? resting_.size() : std::min(resting_.size(), kFewLooks);
  for (size_t looks = 0; looks < most; ++looks) {
    const StreamMark last = resting_.front();
    resting_.pop_front();
    if (!last.Reached()) {
      resting_.push_back(last);
      continue;
    }
    open_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t generation = generations_[last.slot].fetch_add(1, std::memory_order_acq_rel) + 1;
    return {last.slot, generation};
  }
  if (used_ == wire::kMaxStreams) return {};
  open_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t slot = used_++;
  return {slot, generations_[slot].load(std::memory_order_relaxed)};
}

void StreamSlots::StartAgain() {
  std::lock_guard lock(mutex_);
  for (uint32_t slot = 0; slot < used_; ++slot) generations_[slot].fetch_add(1, std::memory_order_acq_rel);
  resting_.clear();
  used_ = 1;
  open_.store(0, std::memory_order_relaxed);
}

void StreamSlots::GiveBack(const StreamMark& last) {
  std::lock_guard lock(mutex_);
  resting_.push_back(last);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti::client
