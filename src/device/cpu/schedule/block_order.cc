// A chain, in which every block waits for the one before, shows what the order is for. One SM runs the front of the
// chain, the others wait. When a block ends, its successor is the earliest that waits: either it is on an SM and sees
// the memory change, or it is parked and runs next, because a block has ended since it was seen to wait. No search is
// needed.
//
// A parked block that has not been tried since the last end of a block is *news*. Only the earliest is tried for each
// end: to try all of them would cost one try per parked block and end. The others are tried in turn (kTurn), so none
// starves.
#include "device/cpu/schedule/block_order.h"

#include <algorithm>
#include <functional>

#include "guest/exec/block_run.h"

namespace tutti::device::cpu {

using Kind = guest::StandingRuns::Kind;

void BlockOrder::Reset(uint64_t total, uint64_t most_begun, uint32_t places) {
  total_ = total;
  most_begun_ = most_begun;
  if (places > 1 && total <= BlockPlaces::kMostBlocks) {
    places_.Divide(total, places);
    next_ = total;
  } else {
    places_.Clear();
    next_ = 0;
  }
  ended_.store(0, std::memory_order_relaxed);
  since_turn_ = since_fresh_ = 0;
  given_back_.clear();
  given_back_blocks_ = 0;
  Tell();
}

bool BlockOrder::IsNews(const guest::BlockRun* waiting) const { return waiting->standing.seen != ended(); }

uint64_t BlockOrder::EarliestThatGoesOn() const {
  const guest::BlockRun* const ready = standing_.Lowest(Kind::kReady);
  const guest::BlockRun* const waiting = standing_.Lowest(Kind::kWaiting);
  return std::min(ready != nullptr ? ready->index() : kNone,
                  waiting != nullptr && IsNews(waiting) ? waiting->index() : kNone);
}

bool BlockOrder::AllThatStandWait() const { return EarliestThatGoesOn() == kNone && NothingButWaited(); }

bool BlockOrder::NothingButWaited() const {
  if (standing_.Lowest(Kind::kReady) != nullptr) return false;
  const auto [first, end] = Earliest();
  return first >= end || first > standing_.Lowest(Kind::kWaiting)->index();
}

guest::BlockRun* BlockOrder::NextBesideStanding(uint64_t begun) {
  const uint64_t going_on = EarliestThatGoesOn();
  guest::BlockRun* run = standing_.Longest();
  if (++since_turn_ % kTurn == 0) {
    // the one that has stood longest
  } else if (FreshIsNext(begun, going_on)) {
    return nullptr;
  } else if (going_on != kNone) {
    run = standing_.Lowest(Kind::kReady);
    if (run == nullptr || run->index() != going_on) run = standing_.Lowest(Kind::kWaiting);
  }
  standing_.Remove(run);
  Tell();
  return run;
}

bool BlockOrder::FreshIsNext(uint64_t begun, uint64_t going_on) {
  const auto [fresh, end] = Earliest();
  if (fresh >= end) return false;
  if (going_on != kNone) return fresh < going_on;
  if (fresh < standing_.Lowest(Kind::kWaiting)->index()) return true;
  // All wait. They may wait for one that has not begun; but the more there are, the less likely that is.
  return begun < most_begun_ && (standing_.count() < kFewStanding || ++since_fresh_ % kTurn == 0);
}

uint64_t BlockOrder::TakeGivenBack(uint64_t count) {
  const uint64_t first = given_back_.front().first;
  given_back_blocks_ -= count;
  if (given_back_.front().first + count == given_back_.front().second) {
    std::ranges::pop_heap(given_back_, std::greater());
    given_back_.pop_back();
  } else {
    given_back_.front().first += count;  // still the earliest: ranges do not overlap
  }
  return first;
}

void BlockOrder::AddGivenBack(uint64_t begin, uint64_t end) {
  given_back_.emplace_back(begin, end);
  given_back_blocks_ += end - begin;
  std::ranges::push_heap(given_back_, std::greater());
}

void BlockOrder::GiveBack(uint64_t begin, uint64_t end) {
  AddGivenBack(begin, end);
  Tell();
}

// What one block waits for may be any earlier one.
void BlockOrder::GiveUpPlaces() {
  places_.ForEach([this](BlockPlaces::Blocks blocks) { AddGivenBack(blocks.first, blocks.second); });
  places_.Clear();
}

void BlockOrder::Stand(guest::BlockRun* run, Kind kind, uint64_t seen) {
  if (kind == Kind::kWaiting) GiveUpPlaces();
  standing_.Add(run, kind, seen);
  Tell();
}

guest::BlockRun* BlockOrder::TakeAny() {
  guest::BlockRun* const run = standing_.Longest();
  if (run != nullptr) standing_.Remove(run);
  return run;
}

uint64_t BlockOrder::StateForTests() const {
  uint64_t state = next_;
  const auto add = [&state](uint64_t value) { state = (state ^ value) * 0x9e3779b97f4a7c15u + (state >> 31); };
  for (const auto& [begin, end] : given_back_) add(begin << 32 | end);
  places_.ForEach([&](BlockPlaces::Blocks blocks) { add(blocks.first << 32 | blocks.second); });
  for (const guest::BlockRun* run = standing_.Longest(); run != nullptr; run = run->next) {
    add(run->index() << 2 | (run->standing.kind == Kind::kReady ? 1 : 0));
    add(run->standing.seen);
  }
  add(ended());
  add(since_turn_ % kTurn);
  return state;
}

void BlockOrder::TellBesideStanding() {
  const auto [fresh, end] = Earliest();
  earliest_.store(std::min(fresh < end ? fresh : kNone, EarliestThatGoesOn()), std::memory_order_relaxed);
  others_.store(true, std::memory_order_relaxed);
}

bool BlockOrder::TakeTurn(uint64_t now_ns) {
  uint64_t turn_ns = turn_ns_.load(std::memory_order_relaxed);
  return now_ns >= turn_ns && turn_ns_.compare_exchange_strong(turn_ns, now_ns + kTurnNs, std::memory_order_relaxed);
}

}  // namespace tutti::device::cpu
