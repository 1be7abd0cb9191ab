#include "ipc/ring_consumer.h"

#include <fmt/format.h>

#include <cstring>

#include "os/futex.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kReleaseEvery = wire::kRingSlots / 16;

// What follows `published` in a slot, read exactly once: later writes by the client have no effect.
struct HeadCopy {
  wire::RecordKind kind;
  uint8_t slots;
  uint16_t reply;
  uint32_t stream;
};
static_assert(sizeof(HeadCopy) + sizeof(uint64_t) == sizeof(wire::RecordHead));

const uint8_t* AfterPublished(const wire::Slot& slot) {
  return reinterpret_cast<const uint8_t*>(&slot) + sizeof(uint64_t);
}

}  // namespace

RingConsumer::RingConsumer(wire::Channel* channel)
    : header_(&channel->header), ring_(channel->ring), buffer_(std::make_unique<Buffer>()) {}

Result<std::optional<wire::Untrusted<wire::RawRecord>>> RingConsumer::Next() {
  if (cursor_ - released_ >= kReleaseEvery) ReleaseSlots();
  const uint64_t ticket = cursor_;
  const wire::Slot& first = ring_[ticket % wire::kRingSlots];
  // Pairs with the producer's publishing store.
  if (first.head.published.load(std::memory_order_acquire) != ticket + 1) return std::nullopt;

  HeadCopy head;
  std::memcpy(&head, AfterPublished(first), sizeof head);
  if (head.slots == 0 || head.slots > wire::kMaxRecordSlots) return Fail(fmt::format("record of {} slots", head.slots));
  uint8_t* out = buffer_->bytes;
  std::memcpy(out, first.body, wire::kBodyBytes);
  out += wire::kBodyBytes;
  for (uint32_t i = 1; i < head.slots; ++i) {
    std::memcpy(out, AfterPublished(ring_[(ticket + i) % wire::kRingSlots]), wire::kContinuationBytes);
    out += wire::kContinuationBytes;
  }
  cursor_ += head.slots;
  return wire::Untrusted(wire::RawRecord{.ticket = ticket,
                                         .kind = head.kind,
                                         .reply = head.reply,
                                         .stream = head.stream,
                                         .bytes = {buffer_->bytes, static_cast<size_t>(out - buffer_->bytes)}});
}

bool RingConsumer::Peek() const {
  return ring_[cursor_ % wire::kRingSlots].head.published.load(std::memory_order_seq_cst) == cursor_ + 1;
}

void RingConsumer::ReleaseSlots() {
  if (released_ == cursor_) return;
  released_ = cursor_;
  // seq_cst: pairs with a producer that counts itself asleep and then re-checks `head`. The producers' acquire of
  // `head` also orders their writes after our copies.
  header_->head.store(cursor_, std::memory_order_seq_cst);
  if (header_->space_sleepers.load(std::memory_order_seq_cst) == 0) return;
  header_->space_wake.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&header_->space_wake);
}

}  // namespace tutti::ipc
