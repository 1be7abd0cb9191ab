// Many SMs side by side.
//
// The lock is one for all SMs of a device, so that each decision sees all that is ready, and all accounts are exact.
// What bounds it is how often it is taken, and what is done with it: with S SMs that take 20 us of work at a time, S
// decisions in 20 us. From kManySms SMs on, each of which has a core, the lock's time per decision and the number of
// decisions do not depend on S:
//
// * An SM takes a *batch*: as many times longer than a chunk as there are SMs, in eighths. Somebody comes by for new
//   work as often as before, since that many more SMs do: a client that comes does not wait longer for the next SM that
//   becomes free. Nor does it for one that has to be interrupted: a batch is given up between any two blocks, and
//   within one, like a chunk.
// * A batch is no commitment. The SM takes it a piece (a chunk) at a time, without the lock (batch.h). One that finds
//   nothing else to run takes half of what a neighbour has left, with the lock: it counts as an SM of that task like
//   any other, by its client's caps too, and the part of the estimate that was charged for it moves along. It does so
//   only where nothing is offered to anybody: then it takes nothing away.
// * An SM takes no even part of a short grid, since each SM's turn at the lock delays those after it. With n SMs at
//   work, and t for a turn, work W is done after n*t + W/n: least for n = sqrt(W/t), each with sqrt(W*t). And where
//   other clients wait, a grid is dealt out to as many SMs as there are for each client: on all of them for an eighth
//   of the time it would be done no sooner than on an eighth of them.
// * Nothing looks at all SMs for each decision. Whether one is idle, and whether something runs that is less urgent
//   than something that waits, is counted. Whose slice is over is looked at every kLookPauseNs, about as often as the
//   ticker could interrupt it anyway. And the shares that wait stand in a heap (waiting_shares.h).
//
// Kernels whose blocks wait for each other, and cooperative ones, get chunks: a block should not stand in a batch
// behind one that waits for it.
#include <bit>
#include <cmath>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr double kTurnNs = 1000;  // at the lock: to take a batch and to report its end
constexpr uint64_t kLookPauseNs = LookTimer::kLeastPauseNs;
constexpr uint32_t kNeighbours = 64;  // that an SM with nothing to run looks at
constexpr size_t kMostTries = 4;  // with those that have something, which is not certain before it has the lock
constexpr uint64_t kLeastStolenNs = 10'000;  // of what the other has left: what it takes to fetch half of it

}  // namespace

uint64_t Scheduler::BatchBlocks(const Task& task, uint64_t available) const {
  const uint32_t block_ns = task.habits->ns.load(std::memory_order_relaxed);
  if (block_ns == 0 || task.yields || task.kernel.cooperative || task.habits->WaitOften())
    return ChunkBlocks(task, available);
  if (PieceBlocks(task) >= available) return available;
  // Of all that has not begun: what others have given back is in pieces, and these are not cut smaller again.
  const uint64_t left = task.order.left();
  const uint64_t wanted_by = std::clamp(sms() / std::max(1u, offered_), 1u, task.share->cap.max_sms());
  const uint64_t even = (left + wanted_by - 1) / wanted_by;
  const auto worth = static_cast<uint64_t>(std::sqrt(static_cast<double>(left) * kTurnNs / block_ns));
  return std::min({available, std::max(even, worth), std::max<uint64_t>(1, batch_ns_ / block_ns)});
}

void Scheduler::CountLevel(SmState& sm) {
  sm.level = sm.share->band * kUrgencies + sm.task->urgency;
  sm.counted = true;
  ++running_levels_[sm.level];
  ++sm.share->running_urgencies[sm.task->urgency];
}

void Scheduler::UncountLevel(SmState& sm) {
  if (!sm.counted) return;
  sm.counted = false;
  --running_levels_[sm.level];
  --sm.share->running_urgencies[sm.level % kUrgencies];
}

// Of all shares, and in `share` itself, whose streams have priorities among each other.
bool Scheduler::MoreUrgentWaits(const SpaceShare& share) const {
  if (policy_->MoreUrgentWaits(running_levels_)) return true;
  if (share.queued_mask == 0) return false;
  for (auto urgency = static_cast<uint32_t>(std::countr_zero(share.queued_mask)) + 1; urgency < kUrgencies; ++urgency) {
    if (share.running_urgencies[urgency] != 0) return true;
  }
  return false;
}

// No SM is idle for what waits, of which something may be `share`'s. `goes_on`: room has been made once, and taken;
// each of many SMs that take some makes room for two more, since a chain through all of them would take too long.
void Scheduler::LookForRoom(const SpaceShare& share, bool goes_on, uint64_t now_ns, RescheduleRequest* request) {
  const bool is_time = !many_ || now_ns >= looked_at_ns_ + kLookPauseNs;
  if (is_time || (!no_room_ && MoreUrgentWaits(share))) {
    request->interrupt[0] = MakeRoom(now_ns);
    no_room_ = request->interrupt[0] == nullptr;
    if (many_ && goes_on && !no_room_) request->interrupt[1] = MakeRoom(now_ns);
  }
  if (is_time) {
    looked_at_ns_ = now_ns;
    request->look_at_ns = NextLookNs(now_ns);
  } else {
    request->look_at_ns = looked_at_ns_ + kLookPauseNs;
  }
}

// The SM has left the share's work and will look for more: what it finds there is for itself. Idle SMs that heard of it
// would look in vain, all of them, each time a client ends something whose limit keeps SMs idle.
void Scheduler::OfferAgain(SmState& sm, SpaceShare* share) {
  if (!many_ || restricted()) {
    UpdateOffer(share);
    return;
  }
  unheard_ |= ChangeOffer(share);
  if (sm.task != nullptr || sm.coming) return;
  sm.coming = true;
  ++coming_;
}

// The SM has looked, or does not look soon: idle ones hear of what is left.
void Scheduler::TellOfRest(SmState& sm) {
  if (sm.coming) {
    sm.coming = false;
    --coming_;
  }
  if (!unheard_ || coming_ >= offered_) return;
  unheard_ = false;
  gate_.Advance();
}

// Batches of shares whose caps have room for one more SM: others, of which there may be many, are not worth a look.
void Scheduler::CountOpenBatches(SpaceShare* share) {
  const uint32_t open = share->cap.open() && !share->dead ? share->batches : 0;
  if (open == share->open_batches) return;
  open_batches_.store(open_batches_.load(std::memory_order_relaxed) + open - share->open_batches,
                      std::memory_order_relaxed);
  share->open_batches = open;
}

// For an SM for which there is nothing.
bool Scheduler::TakeFromOther(SmState& sm, Chunk* chunk) {
  if (open_batches_.load(std::memory_order_relaxed) == 0) return false;
  SmState* others[kMostTries];
  size_t found = 0;
  for (uint32_t i = 1; i <= std::min(kNeighbours, sms() - 1) && found != std::size(others); ++i) {
    SmState& other = sm_states_[(sm.index + i) % sms()];
    if (other.batch.left() != 0) others[found++] = &other;
  }
  if (found == 0) return false;
  uint64_t look_at_ns;
  {
    std::lock_guard lock(mutex_);
    if (offered_ != 0) return false;  // this SM looks again, since the epoch has advanced, or another one does
    const uint64_t now_ns = clock_();
    const auto end = others + found;
    if (std::find_if(others, end, [&](SmState* other) { return Steal(sm, *other, chunk, now_ns); }) == end)
      return false;
    look_at_ns = NextLookNs(sm, now_ns);
  }
  ticker_->Arm(look_at_ns);
  return true;
}

bool Scheduler::Steal(SmState& sm, SmState& other, Chunk* chunk, uint64_t now_ns) {
  Task* const task = other.task;
  if (task == nullptr || !other.counted) return false;
  SpaceShare* const share = task->share;
  if (share->dead || !share->cap.open() || !share->MayTake(sm.index)) return false;
  if (task->cap != nullptr && !task->cap->cap.open()) return false;
  const uint64_t block_ns = task->habits->ns.load(std::memory_order_relaxed);
  if (other.batch.left() * block_ns < kLeastStolenNs) return false;
  const auto [first, end] = other.batch.Steal();
  if (first == end) return false;
  *chunk = {.task = task, .first = first, .count = end - first};
  sm.batch.Fill(first, chunk->count, PieceBlocks(*task));
  chunk->piece_end = sm.batch.TakePiece().second;
  if (sm.batch.is_large()) ++share->batches;
  sm.estimate_ns = std::min(EstimateNs(*task, chunk->count), other.estimate_ns);
  other.estimate_ns -= sm.estimate_ns;
  CountChunk(task, now_ns);
  Occupy(sm, task, chunk, now_ns);
  CountOpenBatches(share);
  return true;
}

}  // namespace tutti::device::cpu
