#include "ipc/ring_producer.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "os/futex.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kSpinForRoomNs = 20'000;
constexpr uint64_t kSleepForRoomNs = 20'000'000;

}  // namespace

// The ring is full: the server is thousands of records behind, so a sleep costs nothing that matters. The consumer
// frees many slots at a time and wakes sleepers once.
bool RingProducer::AwaitRoom(uint64_t end) {
  if (watch_->ended() != 0) return false;
  Nudge();
  const uint64_t give_up_spinning_ns = NowNs() + kSpinForRoomNs;
  while (NowNs() < give_up_spinning_ns) {
    if (HasRoom(end)) return true;
    CpuRelax();
  }
  bool room = false;
  // seq_cst: pairs with the consumer's store of `head` and its load of `space_sleepers`.
  header_->space_sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (watch_->ended() == 0) {
    const uint32_t wake = header_->space_wake.load(std::memory_order_seq_cst);
    const uint64_t head = header_->head.load(std::memory_order_seq_cst);
    if (end <= head + wire::kRingSlots) {
      room = true;
      break;
    }
    if (!os::FutexWait(&header_->space_wake, wake, kSleepForRoomNs)) {
      ForceBell();
      watch_->Check();
    }
  }
  header_->space_sleepers.fetch_sub(1, std::memory_order_relaxed);
  return room;
}

void RingProducer::FillContinuation(uint64_t position, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t part = std::min<size_t>(bytes.size(), wire::kContinuationBytes);
    std::memcpy(reinterpret_cast<uint8_t*>(&SlotAt(position)) + sizeof(uint64_t), bytes.data(), part);
    bytes = bytes.subspan(part);
    ++position;
  }
}

void RingProducer::RingBell() {
  const auto watched = static_cast<uint32_t>(wire::Doorbell::kWatched);
  if (header_->doorbell.exchange(watched, std::memory_order_seq_cst) != watched) ForceBell();
}

void RingProducer::ForceBell() {
  // The program may have closed the descriptor and reused its number for a file of its own.
  if (!doorbell_identity_.IsOf(doorbell_fd_)) return watch_->Lose();
  const uint64_t one = 1;
  // Non-blocking: a full counter wakes the server as well.
  [[maybe_unused]] const ssize_t written = write(doorbell_fd_, &one, sizeof one);
}

}  // namespace tutti::ipc
