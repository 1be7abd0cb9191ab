#include "client/context/stream_slots.h"

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

StreamSlots::Handle StreamSlots::Take() {
  std::lock_guard lock(mutex_);
  if (const auto last = resting_.Take(used_ == wire::kMaxStreams)) {
    open_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t generation = generations_[last->slot].fetch_add(1, std::memory_order_acq_rel) + 1;
    return {last->slot, generation};
  }
  if (used_ == wire::kMaxStreams) return {};
  open_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t slot = used_++;
  return {slot, generations_[slot].load(std::memory_order_relaxed)};
}

void StreamSlots::StartAgain() {
  std::lock_guard lock(mutex_);
  for (uint32_t slot = 0; slot < used_; ++slot) generations_[slot].fetch_add(1, std::memory_order_acq_rel);
  resting_.Clear();
  used_ = 1;
  open_.store(0, std::memory_order_relaxed);
}

void StreamSlots::GiveBack(const StreamMark& last) {
  std::lock_guard lock(mutex_);
  resting_.GiveBack(last);
  open_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti::client
