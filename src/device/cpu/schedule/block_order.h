// Which block of a task runs next. Forward progress that a grid may rely on:
//
//   Blocks are given out in the order of their indexes. (One may stand in an SM's batch behind others, until these end
//   or wait: then it is given back, or others take it, schedule/batch.h.)
//   A block that has begun resumes, the lowest index first, before any later one begins.
//   A block that only waits yields to any earlier one, and is retried: the earliest waiting one whenever a block of the
//   task has ended, every one after a bounded number of chunks, however many others there are (no starvation).
//
// So the earliest block that has not ended is always running or next, and a task whose blocks wait only for earlier
// ones ends. Blocks may wait for later ones, too, as long as the device can have them all begun at once (`most_begun`):
// if all that have begun wait, new ones begin.
//
// Where no block of a grid can wait for another one (Task::any_order) SMs begin it at places of their own
// (block_places.h): those who reset the order say so. Blocks that have begun go on before those at places begin; and
// should one wait after all, what has not begun is given out in order from then on.
//
// Guarded by the device's scheduler lock, except where marked.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/cpu/schedule/block_places.h"
#include "guest/exec/standing_runs.h"

namespace tutti::device::cpu {

class BlockOrder {
 public:
  static constexpr uint64_t kNone = ~0ull;
  // One in so many chunks goes to the block that has stood longest.
  static constexpr uint32_t kTurn = 8;

  // For a new task of `total` blocks. Nothing of the last task is left. `places`: at which SMs begin; 1: in order.
  void Reset(uint64_t total, uint64_t most_begun, uint32_t places = 1);

  // There is a block to dispatch.
  bool HasWork() const { return !standing_.empty() || next_ < total_ || !given_back_.empty() || places_.left() != 0; }
  // ... but all that stand wait, and nothing has happened since they were tried.
  bool OnlyWaits() const { return !standing_.empty() && AllThatStandWait(); }
  // All that stand have waited, some perhaps for what has happened since, and none that could begin is earlier.
  bool HasOnlyWaited() const { return !standing_.empty() && NothingButWaited(); }
  // The run that resumes now; null: blocks begin (there are some: Fresh). `begun`: how many have begun and not ended.
  guest::BlockRun* Next(uint64_t begun) { return standing_.empty() ? nullptr : NextBesideStanding(begun); }
  // How many blocks that have not begun an SM at `place` can be given at once: the earliest, or those at its place.
  uint64_t Fresh(uint32_t place) {
    if (places_.left() != 0 && given_back_.empty()) return places_.Offer(place);
    const auto [first, end] = Earliest();
    return end - first;
  }
  // `count` of those that Fresh has just told of; the first.
  uint64_t TakeFresh(uint64_t count) {
    uint64_t first = next_;
    if (!given_back_.empty()) {
      first = TakeGivenBack(count);
    } else if (places_.left() != 0) {
      first = places_.Take(count);
    } else {
      next_ += count;
    }
    Tell();
    return first;
  }

  // Returns what a chunk has left.
  void GiveBack(uint64_t begin, uint64_t end);  // not begun
  // `seen`: ended() as it was before the run last checked what it waits for.
  void Stand(guest::BlockRun* run, guest::StandingRuns::Kind kind, uint64_t seen = 0);
  void End(uint64_t blocks) {
    // Release: makes what the blocks wrote visible to those that wait.
    ended_.store(ended_.load(std::memory_order_relaxed) + blocks, std::memory_order_release);
    if (!standing_.empty()) Tell();
  }

  uint64_t total() const { return total_; }
  uint64_t begun() const { return next_ - given_back_blocks_ - places_.left(); }  // or dispatched to begin
  uint64_t left() const { return total_ - begun(); }
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }  // needs no lock
  uint64_t standing() const { return standing_.count(); }
  // To discard them: any run that stands, or null.
  guest::BlockRun* TakeAny();

  // Differs for orders that would continue differently.
  uint64_t StateForTests() const;

  // Lock-free: whether a block that waits should yield to an earlier one. A hint that becomes exact soon.
  bool HasEarlier(uint64_t index) const { return earliest_.load(std::memory_order_relaxed) < index; }
  // Lock-free: there is something that a waiting block could yield to, if it is its turn (TakeTurn).
  bool HasOthers() const { return others_.load(std::memory_order_relaxed); }
  // Lock-free: true for one caller per kTurnNs.
  bool TakeTurn(uint64_t now_ns);

 private:
  static constexpr uint64_t kTurnNs = 250;

  static constexpr size_t kFewStanding = 64;  // each holds its stacks and shared memory

  bool AllThatStandWait() const;
  bool NothingButWaited() const;
  guest::BlockRun* NextBesideStanding(uint64_t begun);
  bool FreshIsNext(uint64_t begun, uint64_t going_on);
  uint64_t TakeGivenBack(uint64_t count);
  // The earliest blocks that have not begun: [first, second), but for those at places; empty: none.
  std::pair<uint64_t, uint64_t> Earliest() const {
    return given_back_.empty() ? std::pair(next_, total_) : given_back_.front();
  }
  void AddGivenBack(uint64_t begin, uint64_t end);
  void GiveUpPlaces();
  bool IsNews(const guest::BlockRun* waiting) const;
  uint64_t EarliestThatGoesOn() const;  // the index, or kNone
  // Publishes the hints: two stores per chunk, and the work of tasks whose blocks stand.
  void Tell() {
    if (!standing_.empty()) return TellBesideStanding();
    const auto [fresh, end] = Earliest();
    const bool at_places = places_.left() != 0;  // any may be earlier
    earliest_.store(at_places ? 0 : fresh < end ? fresh : kNone, std::memory_order_relaxed);
    others_.store(at_places || fresh < end, std::memory_order_relaxed);
  }
  void TellBesideStanding();

  uint64_t total_ = 0;
  uint64_t most_begun_ = 0;
  uint64_t next_ = 0;  // blocks from here on have not been dispatched
  BlockPlaces places_;  // or all that have not been are here, and next_ is total_
  std::vector<std::pair<uint64_t, uint64_t>> given_back_;  // [begin, end) not begun, a heap: the earliest in front
  uint64_t given_back_blocks_ = 0;  // in all of these
  std::atomic<uint64_t> ended_{0};
  uint32_t since_turn_ = 0, since_fresh_ = 0;  // chunks
  guest::StandingRuns standing_;
  std::atomic<uint64_t> earliest_{kNone};
  std::atomic<bool> others_{false};
  std::atomic<uint64_t> turn_ns_{0};
};

}  // namespace tutti::device::cpu
