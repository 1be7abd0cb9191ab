#include "ipc/reply_slots.h"

#include <algorithm>

#include "os/futex.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kFirstSleepNs = 20'000'000;
constexpr uint64_t kLongestSleepNs = 200'000'000;

constexpr uint32_t State(wire::ReplyState state) { return static_cast<uint32_t>(state); }

}  // namespace

bool ReplySlots::TryTake(uint16_t* slot) {
  const uint32_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < wire::kReplySlots; ++i) {
    const uint32_t index = (start + i) % wire::kReplySlots;
    uint32_t expected = State(wire::ReplyState::kFree);
    // Acquire: the last owner's reads of the slot happen before our writes. seq_cst: Free.
    if (slots_[index].state.compare_exchange_strong(expected, State(wire::ReplyState::kPending),
                                                    std::memory_order_seq_cst)) {
      *slot = static_cast<uint16_t>(index);
      return true;
    }
  }
  return false;
}

int32_t ReplySlots::Take(uint16_t* slot) {
  if (TryTake(slot)) return 0;
  // All slots are in use by waiting threads, maybe for long: their server may have been stopped.
  takers_.fetch_add(1, std::memory_order_seq_cst);
  uint64_t sleep_ns = kFirstSleepNs;
  int32_t ended = 0;
  for (;;) {
    const uint32_t freed = freed_.load(std::memory_order_seq_cst);
    if (TryTake(slot) || (ended = watch_->Check()) != 0) break;
    if (!os::FutexWait(&freed_, freed, sleep_ns)) sleep_ns = std::min(sleep_ns * 2, kLongestSleepNs);
  }
  takers_.fetch_sub(1, std::memory_order_seq_cst);
  return ended;
}

// All seq_cst: a taker counts itself, reads `freed_` and then looks at the slots; who frees one looks for takers
// afterwards.
void ReplySlots::Free(uint16_t slot) {
  slots_[slot].state.store(State(wire::ReplyState::kFree), std::memory_order_seq_cst);
  if (takers_.load(std::memory_order_seq_cst) == 0) return;
  freed_.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&freed_, 1);
}

Reply ReplySlots::Await(uint16_t index, const std::function<void()>& meanwhile) {
  wire::ReplySlot& slot = slots_[index];
  // Acquire: pairs with the server's exchange, after which status and values are set.
  const auto done = [&] { return slot.state.load(std::memory_order_acquire) == State(wire::ReplyState::kDone); };
  uint64_t sleep_ns = kFirstSleepNs;
  if (!spin_.Spin(done)) {
    uint32_t expected = State(wire::ReplyState::kPending);
    slot.state.compare_exchange_strong(expected, State(wire::ReplyState::kPendingAsleep), std::memory_order_acq_rel);
    while (!done()) {
      // A slot whose reply may still arrive is never reused; the session is over anyway.
      if (const int32_t ended = watch_->ended(); ended != 0) return Reply{.status = ended};
      if (os::FutexWait(&slot.state, State(wire::ReplyState::kPendingAsleep), sleep_ns)) continue;
      if (meanwhile) meanwhile();
      producer_->ForceBell();
      watch_->Check();
      sleep_ns = std::min(sleep_ns * 2, kLongestSleepNs);
    }
  }
  Reply reply{.status = slot.status};
  std::copy(std::begin(slot.value), std::end(slot.value), std::begin(reply.value));
  Free(index);
  return reply;
}

}  // namespace tutti::ipc
