// The executor's streams, lent to the client's streams while these have unfinished work in them. A client has thousands
// of streams, the driver few that run at once.
//
// When all of an urgency are lent, several of the client's streams share one. That is correct: the executor is given
// everything in one order, in which each record comes behind those that it waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "device/common/stream_order/stream.h"
#include "device/device.h"
#include "device/gpu/gpu_operation.h"
#include "executor/protocol/dispatch.h"

namespace tutti::device::gpu {

// Not thread-safe (the Space's lock).
class LentStreams {
 public:
  // As many as a GPU has queues, and for one of several Spaces in a context a part of that.
  static constexpr uint32_t kMostOfUrgency = 32, kMostOfUrgencyShared = 8;
  explicit LentStreams(uint32_t most_of_urgency = kMostOfUrgency) : most_of_urgency_(most_of_urgency) {}

  struct Awaited {
    uint32_t stream = 0;
    uint64_t sequence = 0;  // 0: nothing
  };
  struct Given {
    uint64_t sequence;  // done when this is
    Operation* operation;
    uint64_t order;  // among those of all streams
    Awaited awaited;  // is done when this is
    uint64_t ended_elsewhere;  // kernels in other streams, before it
  };
  // What the executor is to be given when there is room for it, in a stream's order.
  struct Held {
    enum class Kind : uint8_t { kWork, kWait, kPoint, kTime } kind = Kind::kWork;
    uint64_t sequence = 0;  // kPoint: of the record before it
    GpuOperation* work = nullptr;  // kWork
    uint32_t other = 0;  // kWait: a number, and what is waited for
    uint64_t other_sequence = 0;
  };
  struct Lent {
    uint32_t number = 0;
    uint32_t urgency = 0;
    uint32_t borrowers = 0;
    // Sequence numbers, the last of each: numbered, given to the executor, done.
    uint64_t numbered = 0;
    uint64_t given = 0;
    uint64_t done = 0;
    uint64_t awaiting = 0;  // the last one given that waits for room on the device, or for another stream
    uint64_t known_done = 0;  // what waited for it is, whatever the executor has said of it
    uint64_t kernels_ended = 0;
    std::deque<Given> unfinished;
    std::deque<Held> held;
  };

  // The one that the client's stream has, or is lent now. `*opened`: the executor does not know it yet.
  Lent& LendTo(uint32_t stream, uint32_t urgency, bool* opened) {
    *opened = false;
    Borrower& borrower = At(stream);
    if (!borrower.left().empty()) return *lent_[borrower.lent];
    Lent* best = nullptr;
    for (const auto& lent : lent_) {
      if (lent->urgency != urgency) continue;
      if (best == nullptr || lent->borrowers < best->borrowers) best = lent.get();
      if (best->borrowers == 0) break;
    }
    if (best == nullptr || (best->borrowers != 0 && OfUrgency(urgency) < most_of_urgency_)) {
      lent_.push_back(std::make_unique<Lent>());
      best = lent_.back().get();
      best->number = static_cast<uint32_t>(lent_.size()) - 1;
      best->urgency = urgency;
      *opened = true;
    }
    borrower.lent = best->number;
    ++best->borrowers;
    return *best;
  }
  // The one that it has; null: none.
  Lent* Of(uint32_t stream) {
    if (stream >= borrowers_.size() || borrowers_[stream].left().empty()) return nullptr;
    return lent_[borrowers_[stream].lent].get();
  }
  // The sequence number of the last record of the client's stream up to `ticket` that is not done; 0: none.
  uint64_t LastUpTo(uint32_t stream, uint64_t ticket) {
    const std::span<const Unfinished> left = At(stream).left();
    const auto behind = std::ranges::upper_bound(left, ticket, {}, &Unfinished::ticket);
    return behind == left.begin() ? 0 : std::prev(behind)->sequence;
  }
  // The operation is done when `sequence` is.
  void Note(Lent& lent, uint32_t stream, uint64_t sequence, Operation* operation, const Awaited& awaited) {
    At(stream).records.push_back({operation->ticket, sequence});
    ++unfinished_;
    lent.unfinished.push_back({.sequence = sequence,
                               .operation = operation,
                               .order = ++noted_,
                               .awaited = awaited,
                               .ended_elsewhere = kernels_ended_ - lent.kernels_ended});
  }
  // The next one that is done if everything up to `done` is; null: there is none.
  Operation* TakeDone(Lent& lent, uint64_t done) {
    if (lent.unfinished.empty() || lent.unfinished.front().sequence > done) return nullptr;
    Operation* const operation = lent.unfinished.front().operation;
    const Awaited awaited = lent.unfinished.front().awaited;
    lent.unfinished.pop_front();
    --unfinished_;
    if (awaited.sequence != 0) NoteKnown(awaited);
    if (IsKernel(*operation)) {
      ++lent.kernels_ended;
      ++kernels_ended_;
    }
    Borrower& borrower = borrowers_[operation->stream->number];
    borrower.PopFirst();
    if (borrower.left().empty()) --lent.borrowers;
    return operation;
  }

  // Each stream is done at least as far as what is done elsewhere has waited for it. Once no more comes of the ledger.
  void DeduceWhatIsDone() {
    for (bool again = true; again;) {
      again = false;
      for (const auto& lent : lent_) {
        lent->done = std::max(lent->done, lent->known_done);
        for (const Given& given : lent->unfinished) {
          if (given.sequence > lent->done) break;
          if (given.awaited.sequence != 0) again |= NoteKnown(given.awaited);
        }
      }
    }
  }
  // Whether a kernel of another stream has ended since the record was noted.
  bool OthersWentOn(const Lent& lent, const Given& given) const {
    return kernels_ended_ - lent.kernels_ended != given.ended_elsewhere;
  }

  const std::vector<std::unique_ptr<Lent>>& all() const { return lent_; }
  uint64_t unfinished() const { return unfinished_; }

 private:
  static_assert(kMostOfUrgency * kUrgencies <= executor::kMostStreams);

  struct Unfinished {
    uint64_t ticket;
    uint64_t sequence;
  };
  // There is one for each number that the client has used, so one that has nothing takes little.
  struct Borrower {
    uint32_t lent = 0;
    size_t finished = 0;  // of `records`
    std::vector<Unfinished> records;  // in the stream's order

    std::span<const Unfinished> left() const { return std::span(records).subspan(finished); }
    void PopFirst() {
      constexpr size_t kMostFinished = 1024;
      if (++finished < records.size() && finished < std::max(kMostFinished, records.size() / 2)) return;
      records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(finished));
      finished = 0;
    }
  };
  bool NoteKnown(const Awaited& awaited) {
    uint64_t& known = lent_[awaited.stream]->known_done;
    const bool more = awaited.sequence > std::max(known, lent_[awaited.stream]->done);
    known = std::max(known, awaited.sequence);
    return more;
  }
  Borrower& At(uint32_t stream) {
    if (stream >= borrowers_.size()) borrowers_.resize(stream + 1);
    return borrowers_[stream];
  }
  uint32_t OfUrgency(uint32_t urgency) const {
    return static_cast<uint32_t>(
        std::count_if(lent_.begin(), lent_.end(), [urgency](const auto& lent) { return lent->urgency == urgency; }));
  }

  uint32_t most_of_urgency_;
  std::vector<std::unique_ptr<Lent>> lent_;
  std::vector<Borrower> borrowers_;  // by the client's numbers
  uint64_t unfinished_ = 0;
  uint64_t noted_ = 0;
  uint64_t kernels_ended_ = 0;
};

}  // namespace tutti::device::gpu
