// Dispatching: SMs pull from the run queues of the device's Spaces.
//
// An SM that is free takes a *chunk* (Take): the policy picks the Space, that Space's most urgent queue the task, and
// the task its next blocks (block_order.h). Blocks are pulled and never pushed to an SM, so there is nothing to balance
// or to steal, and a late decision is a good one: the policy sees all that is ready at that moment. The price is one
// lock for all SMs of a device. Chunks of about kChunkNs keep it cheap: as many blocks as fill that time by what the
// task's blocks have taken so far, but no more than an even part of those left, so that a short grid still spreads over
// all SMs.
//
// Time is charged when a chunk is dispatched, by estimate, and corrected when it ends (Finish).
//
// Wake-ups form a chain: a submission wakes at most one SM, and an SM that takes work and leaves some wakes the next
// one. So a launch costs its submitter one wake-up however many SMs there are. (Where clients are bound to SMs, all
// wake.)
//
// A task whose blocks only wait for others is *parked* where SMs share cores (scheduler_parked.cc).
//
// An SM's thread that does something else than run blocks, which may take long, says so (StepAway): nobody counts on it
// then, and it wakes another SM for what it leaves.
//
// Nothing is woken, interrupted or armed under the lock: what is to be done is returned as a RescheduleRequest, and
// Perform does it.
#include "device/cpu/schedule/scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "device/cpu/exec/device_limits.h"
#include "device/cpu/schedule/sm_thread.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kChunkNs = 20'000;  // makes taking the lock worth it, where few SMs do
// Where many do, each takes as much more at a time as there are SMs, in eighths (scheduler_many.cc).
constexpr uint32_t kSmsPerChunk = 8;
constexpr uint64_t kUnknownEstimateNs = 20'000;  // of a block that never ran before
constexpr uint64_t kLongNs = 100'000;  // a record in a ring should not have to wait so long

}  // namespace

Scheduler::Scheduler(const Size& size, LookTimer* ticker, BlockPool* pool, Clock clock, LockWatcher* watcher)
    : clock_(clock),
      mutex_(watcher),
      policy_(NewPolicy(Policy::kShare, size.sms)),
      sm_states_(size.sms),
      cores_(size.cores),
      many_(size.sms >= kManySms && size.sms <= size.cores),
      batch_ns_(many_ ? kChunkNs * size.sms / kSmsPerChunk : kChunkNs),
      places_(std::min(size.sms, BlockPlaces::kMost)),
      ticker_(ticker),
      pool_(pool) {
  for (uint32_t i = 0; i < size.sms; ++i) {
    sm_states_[i].index = i;
    sm_states_[i].place = i * places_ / size.sms;
  }
}

RescheduleRequest Scheduler::Submit(Task* task) {
  RescheduleRequest request{.scheduler = this};
  {
    std::lock_guard lock(mutex_);
    SpaceShare* const share = task->share;
    task->ready_ns = clock_();
    task->begun_ns = 0;
    task->active_ns = 0;
    task->order.Reset(
        task->total_blocks,
        task->kernel.cooperative ? BlockOrder::kNone : kMaxBlocksPerSm * uint64_t{sms()} / task->run_blocks,
        PlacesFor(*task));
    task->cap = nullptr;
    for (const auto& context : share->contexts) {
      if (context->context == task->context) task->cap = context.get();
    }
    share->worked = true;
    if (share->unfinished++ == 0) {
      share->active_at_ns = task->ready_ns;
      share->cap.WorkCame(task->ready_ns);
      CountUsable(share);
    }
    Enqueue(task);
    if (!UpdateOffer(share)) gate_.Advance();
    NoteDemand(task->ready_ns);
    // An idle SM that takes what waits will also see what is left.
    if (busy_ != 0 && !IdleSmHasNext(task->ready_ns)) {
      no_room_ = false;
      LookForRoom(*share, false, task->ready_ns, &request);
    }
  }
  const bool restricted = restricted_.load(std::memory_order_relaxed) != 0;
  // A worker of this device will look for work right after this anyway.
  request.wake = restricted || !SmThread::WillLook(this);
  return request;
}

bool Scheduler::Perform(const RescheduleRequest& request) {
  for (const guest::GuestThread* const thread : request.interrupt) {
    if (thread != nullptr) thread->Interrupt();
  }
  const bool has_woken = request.wake && !OneWillLook() && Wake();
  ticker_->Arm(request.look_at_ns);  // whose thread may take this core for a moment
  return has_woken;
}

// Where SMs share cores, as many SMs as there are cores are awake, and one of them has no block and is not away: it is
// between two chunks or waking up. It takes what there is and wakes the next one; another sleeper would only take its
// core. Asked after the epoch has advanced, so an SM that counts as awake by then looks before it sleeps; and after the
// work was queued under the lock, under which an SM that steps away looks once more.
bool Scheduler::OneWillLook() const {
  if (sms() <= cores_ || restricted()) return false;
  const uint32_t awake = sms() - gate_.sleepers();
  return awake >= cores_ && awake > busy_.load(std::memory_order_relaxed) + away_.load(std::memory_order_relaxed);
}

void Scheduler::StepAway(SmState& sm) {
  bool wake;
  {
    std::lock_guard lock(mutex_);
    sm.away = true;
    away_.store(away_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    TellOfRest(sm);
    const uint64_t now_ns = clock_();
    wake = (offered_ != 0 && IdleSmHasNext(now_ns)) || (!parked_.empty() && !HasAllCores());
    wake |= policy_->PicksAgainAtNs(now_ns) != kNever;  // of which somebody else must know
    if (wake) gate_.Advance();  // who has looked since that was offered, or parked, looks again
  }
  if (wake) Wake();
}

void Scheduler::ComeBack(SmState& sm) {
  std::lock_guard lock(mutex_);
  sm.away = false;
  away_.store(away_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// Where clients are bound to SMs, only each SM itself knows whether there is something for it.
bool Scheduler::Wake() {
  if (restricted_.load(std::memory_order_relaxed) != 0) {
    gate_.WakeAll();
    return false;
  }
  return gate_.spinners.load() == 0 && gate_.WakeOne();
}

bool Scheduler::Take(SmState& sm, Chunk* chunk, uint32_t* seen, uint64_t* retry_at_ns) {
  RescheduleRequest request{.scheduler = this};
  bool taken;
  {
    std::lock_guard lock(mutex_);
    const uint64_t now_ns = clock_();
    *retry_at_ns = WakeThrottled(now_ns);
    if (peers_ != nullptr) *retry_at_ns = std::min(*retry_at_ns, OpenGroups(now_ns));
    SpaceShare* const share = parked_.empty() ? policy_->Pick(sm.index, now_ns) : PickBesideParked(sm, now_ns);
    taken = share != nullptr;
    if (taken) {
      request = Begin(sm, share, chunk, now_ns);
      if (peers_ != nullptr) TellOfRoom();
    } else {
      // What this SM leaves, or has just made eligible again, may be for other SMs only, and they sleep.
      TellOfRest(sm);
      if (peers_ != nullptr) TellOfRoom();
      request.wake = TellOthers(now_ns);
      *retry_at_ns = std::min(*retry_at_ns, policy_->PicksAgainAtNs(now_ns));
      *seen = gate_.epoch();
    }
  }
  if (taken) {
    chunk->has_woken = Perform(request);
    if (many_ && request.wake) Wake();  // two: a chain through all of them would take too long
    return true;
  }
  if (request.wake) Wake();
  return many_ && TakeFromOther(sm, chunk);
}

// For an SM that has found nothing: whether sleepers must be woken, since there is something for others. Each of them
// may find nothing, either: where clients are bound to SMs, the one that it is for may take long to come. So all are
// told once of all that has been offered, and of each turn, or they would tell each other until that one has come.
bool Scheduler::TellOthers(uint64_t now_ns) {
  if (offered_ <= coming_ || !IdleSmHasNext(now_ns)) return false;
  if (std::exchange(told_turn_, policy_->turn()) != policy_->turn()) gate_.Advance();
  return !restricted() || std::exchange(told_epoch_, gate_.epoch()) != gate_.epoch();
}

// Gives the SM a chunk of the share's most urgent task. Returns what is to be done for the tasks that are left.
RescheduleRequest Scheduler::Begin(SmState& sm, SpaceShare* share, Chunk* chunk, uint64_t now_ns) {
  RescheduleRequest request{.scheduler = this};
  Task* const task = share->queues[std::countr_zero(share->queued_mask)].head;
  if (task->begun_ns == 0) {
    share->Count(metrics::Counter::queue_wait_ns, now_ns - std::min(now_ns, task->ready_ns));
    task->begun_ns = now_ns;
  }
  GiveOut(sm, task, chunk, now_ns);
  sm.estimate_ns = EstimateNs(*task, chunk->count);
  Occupy(sm, task, chunk, now_ns);
  policy_->Charge(share, static_cast<int64_t>(sm.estimate_ns));
  UpdateOffer(share);
  TellOfRest(sm);
  // Where more SMs are on their way than shares are offered, these are enough.
  const bool has_idle = offered_ != 0 && IdleSmHasNext(now_ns);
  request.wake = has_idle && offered_ > coming_;
  if (request.wake && policy_->is_exclusive())
    gate_.Advance();  // it has been offered for long: those that spin look, too
  if (offered_ != 0 && !has_idle) {
    LookForRoom(*share, true, now_ns, &request);
  } else {
    request.look_at_ns = NextLookNs(sm, now_ns);
  }
  // So that the ticker need not be woken when a block is preempted.
  if (chunk->may_be_long) request.look_at_ns = std::min(request.look_at_ns, now_ns + kRemindNs);
  return request;
}

// The SM has a chunk of the task, for which sm.estimate_ns is or will be charged.
void Scheduler::Occupy(SmState& sm, Task* task, Chunk* chunk, uint64_t now_ns) {
  SpaceShare* const share = task->share;
  share->cap.Begin();
  if (task->cap != nullptr) task->cap->cap.Begin();
  sm.share = share;
  JoinGroup(sm, now_ns);
  sm.task = task;
  CountLevel(sm);
  sm.begin_ns = chunk->begin_ns = now_ns;
  chunk->kernel_limit_ns = KernelLimitNs(*task);
  chunk->may_be_long =
      sm.estimate_ns > kLongNs || task->habits->ns.load(std::memory_order_relaxed) == 0 || task->yields;
  sm.thread->stop.store(guest::StopReason::kNone, std::memory_order_relaxed);
}

bool Scheduler::IdleSmHasNext(uint64_t now_ns) const {
  if (busy_ == sm_states_.size()) return false;
  // Not bound to SMs, what waits is for any that is idle.
  if (many_ && !restricted()) return busy_ + away_ < sm_states_.size() && policy_->HasNext(0, now_ns);
  return std::ranges::any_of(sm_states_, [&](const SmState& sm) {
    return sm.task == nullptr && !sm.away && policy_->HasNext(sm.index, now_ns);
  });
}

uint64_t Scheduler::EstimateNs(const Task& task, uint64_t blocks) const {
  const uint32_t block_ns = task.habits->ns.load(std::memory_order_relaxed);
  return block_ns != 0 ? std::min<uint64_t>(block_ns * blocks, std::max(10 * kChunkNs, batch_ns_)) : kUnknownEstimateNs;
}

// A grid that one SM would take as a whole, or in too few pieces, is none to divide.
uint32_t Scheduler::PlacesFor(const Task& task) const {
  if (!task.any_order) return 1;
  const uint64_t block_ns = task.habits->ns.load(std::memory_order_relaxed);
  const uint64_t least_ns = many_ ? places_ * batch_ns_ : kChunkNs;
  return task.total_blocks * block_ns > least_ns ? places_ : 1;
}

uint64_t Scheduler::PieceBlocks(const Task& task) {
  const uint32_t block_ns = task.habits->ns.load(std::memory_order_relaxed);
  return block_ns == 0 ? 1 : std::max<uint32_t>(1, static_cast<uint32_t>(kChunkNs) / block_ns);
}

uint64_t Scheduler::ChunkBlocks(const Task& task, uint64_t available) const {
  const uint64_t wanted = PieceBlocks(task);
  if (wanted >= available) return available;
  const uint64_t fair = (task.order.left() + sms() - 1) / sms();
  return std::min({wanted, fair, available});
}

// The task decides which blocks are next (block_order.h).
void Scheduler::GiveOut(SmState& sm, Task* task, Chunk* chunk, uint64_t now_ns) {
  *chunk = Chunk{.task = task};
  const uint64_t begun = task->order.standing() + task->at_grid_count + task->active_chunks;
  chunk->resumed = task->order.Next(begun);
  if (chunk->resumed != nullptr) {
    chunk->first = chunk->resumed->index();
    chunk->count = 1;
    sm.batch.Fill(0, 0, 0);
  } else {
    const uint64_t available = task->order.Fresh(sm.place);
    chunk->count = many_ ? BatchBlocks(*task, available) : ChunkBlocks(*task, available);
    chunk->first = task->order.TakeFresh(chunk->count);
    sm.batch.Fill(chunk->first, chunk->count, many_ ? PieceBlocks(*task) : chunk->count);
    chunk->piece_end = sm.batch.TakePiece().second;
    if (sm.batch.is_large()) ++task->share->batches;
  }
  CountChunk(task, now_ns);
  Dequeue(task);
  EnqueueIfWork(task);  // at the back: round robin among the Space's grids of one urgency
}

void Scheduler::CountChunk(Task* task, uint64_t now_ns) {
  if (task->active_chunks++ == 0) task->active_since_ns = now_ns;
  CountHeldUp(task);
  busy_.store(busy_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool Scheduler::HasAllCores() const { return busy_.load(std::memory_order_relaxed) >= cores_; }

void Scheduler::EnqueueIfWork(Task* task) {
  if (!task->order.HasWork()) return;
  if (sms() > cores_ && (task->order.OnlyWaits() || IsCrowded(*task))) {
    Park(task, false);
  } else {
    Enqueue(task);
  }
}

bool Scheduler::ShouldGiveWay(Task& task, uint64_t index, bool has_rest) const {
  const uint64_t own = task.queued.load(std::memory_order_relaxed) ? 1 : 0;
  if (task.order.HasEarlier(index) || queued_tasks_.load(std::memory_order_relaxed) > own) return true;
  if (busy_.load(std::memory_order_relaxed) > cores_) return true;
  return (has_rest || task.order.HasOthers()) && task.order.TakeTurn(clock_());
}

bool Scheduler::Finish(SmState& sm, const Chunk& chunk, const ChunkResult& result) {
  bool done;
  uint64_t look_at_ns = kNever;
  {
    std::lock_guard lock(mutex_);
    Task* const task = chunk.task;
    SpaceShare* const share = sm.share;
    const uint64_t wall_ns = result.end_ns - sm.begin_ns, ran_ns = wall_ns - std::min(wall_ns, result.stolen_ns);
    policy_->Charge(share, static_cast<int64_t>(ran_ns) - static_cast<int64_t>(sm.estimate_ns));
    Spend(sm, ran_ns, result.end_ns);
    CountWanted(share, result.end_ns);
    share->Count(metrics::Counter::device_ns, ran_ns);
    if (task->is_kernel && result.finished != 0)
      share->Count(metrics::Counter::blocks, result.finished * task->run_blocks);
    if (task->cap != nullptr) {
      task->cap->cap.End();
      ReleaseHeld(task->cap);
    }
    if (--task->active_chunks == 0) task->active_ns += result.end_ns - std::min(result.end_ns, task->active_since_ns);
    CountHeldUp(task);
    busy_.store(busy_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    UncountLevel(sm);
    if (sm.batch.is_large()) --share->batches;
    LeaveGroup(sm);
    sm.task = nullptr;
    Return(task, result);
    if (busy_ != 0) look_at_ns = WakeThrottled(result.end_ns);
    if (share->dead) {
      DiscardAll(task);
      done = task->active_chunks == 0;
    } else {
      PassGridBarrierIfComplete(task);
      done = task->order.ended() == task->total_blocks;
      if (!done && task->queue == &share->parked && !IsCrowded(*task)) Unpark(task);
      if (!done && task->queue == nullptr) {
        EnqueueIfWork(task);
      } else if (!done && task->queue == &share->queues[task->queued_urgency] &&
                 task->queued_urgency != UrgencyOf(*task)) {
        Dequeue(task);
        Enqueue(task);
      }
    }
    if (done) {
      TaskEnds(share, result.end_ns);
    } else {
      share->cap.End();
      sm.share = nullptr;
      if (share->dead && share->running() == 0) quiet_.notify_all();
    }
    OfferAgain(sm, share);
    NoteDemand(result.end_ns);
    // Also for what has just been parked.
    if (!parked_.empty()) look_at_ns = std::min(look_at_ns, result.end_ns + kRemindNs);
  }
  ticker_->Arm(look_at_ns);
  return done;
}

// Takes back what a chunk has left of its blocks.
void Scheduler::Return(Task* task, const ChunkResult& result) {
  task->order.End(result.finished);
  task->yields |= result.yielded;
  if (result.rest_begin < result.rest_end) task->order.GiveBack(result.rest_begin, result.rest_end);
  if (result.suspended == nullptr) return;
  if (result.at_grid_barrier) {
    task->at_grid_barrier.Push(result.suspended);
    ++task->at_grid_count;
  } else if (result.yielded) {
    task->order.Stand(result.suspended, guest::StandingRuns::Kind::kWaiting, result.seen_ended);
  } else {
    task->order.Stand(result.suspended, guest::StandingRuns::Kind::kReady);
    task->share->Count(metrics::Counter::preemptions);
  }
}

void Scheduler::Release(SmState& sm) {
  std::lock_guard lock(mutex_);
  SpaceShare* const share = sm.share;
  sm.share = nullptr;
  share->cap.End();
  if (share->dead && share->running() == 0) quiet_.notify_all();
  OfferAgain(sm, share);
}

void Scheduler::TaskEnds(SpaceShare* share, uint64_t now_ns) {
  CountWanted(share, now_ns);
  if (--share->unfinished != 0) return;
  share->active_at_ns = 0;
  CountUsable(share);
}

void Scheduler::CountWanted(SpaceShare* share, uint64_t now_ns) {
  if (share->active_at_ns == 0 || now_ns <= share->active_at_ns) return;
  share->Count(metrics::Counter::wanted_ns, now_ns - share->active_at_ns);
  share->active_at_ns = now_ns;
}

void Scheduler::PassGridBarrierIfComplete(Task* task) {
  if (task->at_grid_count == 0 || task->at_grid_count + task->order.ended() != task->total_blocks) return;
  while (guest::BlockRun* const run = task->at_grid_barrier.Pop()) {
    run->PassGridBarrier();
    task->order.Stand(run, guest::StandingRuns::Kind::kReady);
  }
  task->at_grid_count = 0;
}

// A task that only waits is least urgent: what it waits for may be less urgent than itself.
uint32_t Scheduler::UrgencyOf(const Task& task) { return task.order.OnlyWaits() ? kUrgencies - 1 : task.urgency; }

void Scheduler::CountQueued(Task* task, bool queued) {
  queued_tasks_.store(queued_tasks_.load(std::memory_order_relaxed) + (queued ? 1 : -1), std::memory_order_relaxed);
  task->queued.store(queued, std::memory_order_relaxed);
}

// It has come into a queue or out of it, or an SM has taken or left it.
void Scheduler::CountHeldUp(Task* task) {
  SpaceShare& share = *task->share;
  const bool held_up =
      task->queue == &share.queues[task->queued_urgency] && task->begun_ns != 0 && task->active_chunks == 0;
  if (task->held_up == held_up) return;
  task->held_up = held_up;
  share.held_up[task->queued_urgency] += held_up ? 1 : ~0u;
}

void Scheduler::Enqueue(Task* task) {
  CountQueued(task, true);
  task->queued_urgency = UrgencyOf(*task);
  task->share->queues[task->queued_urgency].PushBack(task);
  task->share->queued_transfers[task->queued_urgency] += task->is_kernel ? 0 : 1;
  task->share->queued_mask |= 1u << task->queued_urgency;
  CountHeldUp(task);
}

void Scheduler::Dequeue(Task* task) {
  TaskQueue* const queue = task->queue;
  queue->Remove(task);
  CountQueued(task, false);
  CountHeldUp(task);
  TaskQueue& own = task->share->queues[task->queued_urgency];
  if (queue == &own && !task->is_kernel) --task->share->queued_transfers[task->queued_urgency];
  if (queue == &own && own.head == nullptr) task->share->queued_mask &= ~(1u << task->queued_urgency);
}

void Scheduler::Discard(guest::BlockRun* run) {
  run->GiveUp();
  pool_->Put(run);
}

void Scheduler::DiscardAll(Task* task) {
  while (guest::BlockRun* const run = task->order.TakeAny()) Discard(run);
  while (guest::BlockRun* const run = task->at_grid_barrier.Pop()) Discard(run);
  task->at_grid_count = 0;
}

}  // namespace tutti::device::cpu
