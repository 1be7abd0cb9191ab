#include "executor/protocol/dispatch_queue.h"

#include <fmt/format.h>

namespace tutti::executor {
namespace {

uint64_t Units(uint32_t bytes) { return AlignUp<uint64_t>(bytes, kUnitBytes); }

}  // namespace

uint64_t DispatchWriter::FreeBytes() {
  const uint64_t head = exchange_->head.load(std::memory_order_acquire);
  if (head < head_ || head > tail_ || head % kUnitBytes != 0) {
    broken_ = true;
    return 0;
  }
  head_ = head;
  return kRingBytes - (tail_ - head_);
}

uint8_t* DispatchWriter::Room(uint32_t bytes) {
  if (exchange_ == nullptr) return nullptr;
  const uint64_t needed = Units(bytes);
  const uint64_t at = tail_ % kRingBytes, to_end = kRingBytes - at;
  const uint64_t skipped = needed > to_end ? to_end : 0;
  const uint64_t all = needed + skipped;
  if (all > kRingBytes - (tail_ - head_) && all > FreeBytes()) return nullptr;
  if (skipped != 0) {
    const DispatchHead nothing{.bytes = static_cast<uint32_t>(skipped)};
    std::memcpy(exchange_->ring + at, &nothing, sizeof nothing);
  }
  tail_ += all;
  return exchange_->ring + (tail_ - needed) % kRingBytes;
}

void DispatchWriter::Publish() {
  while (!waiting_.empty()) {
    const std::vector<uint8_t>& record = waiting_.front();
    uint8_t* const at = Room(static_cast<uint32_t>(record.size()));
    if (at == nullptr) break;
    std::memcpy(at, record.data(), record.size());
    waiting_.pop_front();
  }
  if (published_ == tail_) return;
  published_ = tail_;
  exchange_->tail.store(tail_, std::memory_order_seq_cst);
  if (exchange_->executor_sleeps.load(std::memory_order_seq_cst) == 0) return;
  exchange_->bell.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&exchange_->bell);
}

Result<std::span<const uint8_t>> DispatchReader::Next() {
  for (;;) {
    const uint64_t available = exchange_->tail.load(std::memory_order_acquire) - head_;
    if (available == 0) return std::span<const uint8_t>();
    DispatchHead head;
    const uint64_t at = head_ % kRingBytes;
    if (available > kRingBytes || available % kUnitBytes != 0) return Fail("a ring with more records than fit into it");
    std::memcpy(&head, exchange_->ring + at, sizeof head);
    const uint64_t bytes = head.bytes;
    if (bytes < sizeof head || Units(head.bytes) > available || bytes > kRingBytes - at)
      return Fail(fmt::format("a record of {} bytes", bytes));
    if (head.kind != DispatchKind::kNothing) {
      if (bytes > record_.size()) return Fail(fmt::format("a record of {} bytes", bytes));
      std::memcpy(record_.data(), exchange_->ring + at, bytes);
      std::memcpy(record_.data(), &head, sizeof head);
    }
    head_ += Units(head.bytes);
    exchange_->head.store(head_, std::memory_order_release);
    if (head.kind != DispatchKind::kNothing) return std::span<const uint8_t>(record_.data(), bytes);
  }
}

}  // namespace tutti::executor
