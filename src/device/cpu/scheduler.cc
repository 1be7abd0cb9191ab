#include "device/cpu/scheduler.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "base/clock.h"
#include "device/cpu/device_info.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kChunkNs = 20'000;            // worth a critical section
constexpr uint64_t kUnknownEstimateNs = 20'000;  // of a block that never ran before
constexpr double kMostBudgetNs = 2'000'000;      // that a time-limited Space can save up while idle
constexpr double kLowPriorityWeight = 0.1;       // of clients "below normal"

}  // namespace

Scheduler::Scheduler(uint32_t sms, Ticker* ticker, BlockPool* pool)
    : policy_(NewPolicy(Policy::kShare)), sm_states_(sms), ticker_(ticker), pool_(pool) {}

void Scheduler::SetPolicy(Policy policy) {
  std::lock_guard lock(mutex_);
  policy_ = NewPolicy(policy);
  offered_ = 0;
  for (SpaceShare* share : shares_) {
    share->offered = false;
    share->virtual_ns = 0;  // its meaning is the policy's
    UpdateOffer(share);
  }
  gate_.Advance();
  gate_.WakeAll();
}

void Scheduler::AddShare(SpaceShare* share) {
  std::lock_guard lock(mutex_);
  shares_.push_back(share);
}

void Scheduler::RemoveShare(SpaceShare* share) {
  std::lock_guard lock(mutex_);
  share->dead = true;
  UpdateOffer(share);
  policy_->Forget(share);
  std::erase(shares_, share);
  std::erase(throttled_, share);
}

void Scheduler::SetLimits(SpaceShare* share, const Limits& limits) {
  const double part = limits.active_thread_percentage / 100 * sms();
  std::lock_guard lock(mutex_);
  share->weight = limits.active_thread_percentage * (limits.priority > 0 ? kLowPriorityWeight : 1.0);
  share->max_sms = EffectiveSms(sms(), limits.active_thread_percentage);
  share->time_rate = part < 1 ? part : 0;
  share->budget_ns = 0;
  share->budget_at_ns = NowNs();
  if (share->throttled) {
    share->throttled = false;
    std::erase(throttled_, share);
  }
  UpdateOffer(share);
  gate_.Advance();
  gate_.WakeOne();
}

void Scheduler::Submit(Task* task) {
  bool waits = false;
  {
    std::lock_guard lock(mutex_);
    Enqueue(task);
    UpdateOffer(task->share);
    if (busy_ == sms()) {
      for (const SmState& sm : sm_states_) waits |= OthersWaitFor(sm);
    }
  }
  gate_.Advance();
  if (waits) ticker_->Arm();
  if (CurrentGuestThread() != nullptr && CurrentGuestThread()->scheduler == this)
    return;  // it looks for work right after this
  if (gate_.spinners.load() == 0) gate_.WakeOne();
}

bool Scheduler::Take(SmState& sm, Chunk* chunk, uint32_t* seen, uint64_t* retry_at_ns) {
  bool more = false;
  bool others_wait = false;
  {
    std::lock_guard lock(mutex_);
    const uint64_t now_ns = NowNs();
    *retry_at_ns = WakeThrottled(now_ns);
    SpaceShare* const share = policy_->Pick(now_ns);
    if (share == nullptr) {
      *seen = gate_.epoch();
      return false;
    }
    const auto urgency = static_cast<uint32_t>(std::countr_zero(share->queued_mask));
    Task* const task = share->queues[urgency].head;
    GiveOut(task, chunk);
    ++share->running;
    ++busy_;
    sm.share = share;
    sm.task = task;
    sm.begin_ns = chunk->begin_ns = now_ns;
    const uint32_t block_ns = task->time->ns.load(std::memory_order_relaxed);
    sm.estimate_ns = block_ns != 0 ? std::min<uint64_t>(block_ns * chunk->count, 10 * kChunkNs) : kUnknownEstimateNs;
    sm.thread->stop.store(StopReason::kNone, std::memory_order_relaxed);
    policy_->Charge(share, static_cast<int64_t>(sm.estimate_ns));
    UpdateOffer(share);
    more = policy_->HasNext(now_ns);
    others_wait = OthersWaitFor(sm);
  }
  if (others_wait) ticker_->Arm();
  if (more && gate_.spinners.load() == 0) gate_.WakeOne();
  return true;
}

bool Scheduler::OthersWaitFor(const SmState& sm) const {
  if (sm.task == nullptr) return false;
  if (sm.share->time_rate > 0) return true;  // its own budget waits
  if (offered_ > (sm.share->offered ? 1u : 0u)) return true;
  return sm.share->queued_mask != 0 &&
         static_cast<uint32_t>(std::countr_zero(sm.share->queued_mask)) < sm.task->urgency;
}

uint64_t Scheduler::ChunkBlocks(const Task& task, uint64_t available, uint32_t sms) {
  const uint32_t block_ns = task.time->ns.load(std::memory_order_relaxed);
  const uint64_t wanted = block_ns == 0 ? 1 : std::max<uint64_t>(1, kChunkNs / block_ns);
  const uint64_t fair = (available + sms - 1) / sms;
  const uint64_t blocks = wanted >= available ? available : std::min(wanted, fair);
  const uint64_t whole = (blocks + task.granule - 1) / task.granule * task.granule;
  return std::min(whole, available);
}

// Blocks that were begun go on first, so that few are resident. But a block that yields may wait for one that was not
// begun yet: as long as hardware would have all of them resident, new blocks come first then.
void Scheduler::GiveOut(Task* task, Chunk* chunk) {
  *chunk = Chunk{.task = task};
  const bool has_new = task->next_block < task->total_blocks || !task->given_back.empty();
  const uint64_t begun = task->suspended_count + task->at_grid_count + task->active_chunks;
  const bool new_first = task->kernel.cooperative || (task->yields && begun < kMaxBlocksPerSm * uint64_t{sms()});
  if (!task->suspended.empty() && !(has_new && new_first)) {
    chunk->resumed = task->suspended.Pop();
    chunk->count = 1;
    --task->suspended_count;
  } else if (!task->given_back.empty()) {
    auto& [begin, end] = task->given_back.back();
    chunk->first = begin;
    chunk->count = ChunkBlocks(*task, end - begin, sms());
    begin += chunk->count;
    if (begin == end) task->given_back.pop_back();
  } else {
    chunk->first = task->next_block;
    chunk->count = ChunkBlocks(*task, task->total_blocks - task->next_block, sms());
    task->next_block += chunk->count;
  }
  ++task->active_chunks;
  Dequeue(task);
  if (task->HasWork()) Enqueue(task);  // at the back: round robin among the Space's grids of one urgency
}

bool Scheduler::Finish(SmState& sm, const Chunk& chunk, const ChunkResult& result) {
  bool done;
  bool throttled = false;
  {
    std::lock_guard lock(mutex_);
    Task* const task = chunk.task;
    SpaceShare* const share = sm.share;
    const uint64_t ran_ns = result.end_ns - sm.begin_ns;
    policy_->Charge(share, static_cast<int64_t>(ran_ns) - static_cast<int64_t>(sm.estimate_ns));
    if (share->time_rate > 0) {
      share->budget_ns -= static_cast<double>(ran_ns);  // first: what was earned meanwhile must not be cut off
      RefillBudget(share, result.end_ns);
      if (share->budget_ns <= 0) Throttle(share, result.end_ns);
    }
    --task->active_chunks;
    --busy_;
    sm.task = nullptr;
    task->finished_blocks += result.finished;
    task->yields |= result.yielded;
    if (result.rest_begin < result.rest_end) task->given_back.emplace_back(result.rest_begin, result.rest_end);
    if (result.suspended != nullptr && result.at_grid_barrier) {
      task->at_grid_barrier.Push(result.suspended);
      ++task->at_grid_count;
    } else if (result.suspended != nullptr) {
      task->suspended.Push(result.suspended);
      ++task->suspended_count;
    }
    if (!throttled_.empty()) throttled = true;
    if (share->dead) {
      DiscardRuns(&task->suspended);
      DiscardRuns(&task->at_grid_barrier);
      done = task->active_chunks == 0;
    } else {
      PassGridBarrierIfComplete(task);
      done = task->finished_blocks == task->total_blocks;
      if (!done && !task->queued && task->HasWork()) Enqueue(task);
    }
    if (!done) {
      --share->running;
      sm.share = nullptr;
      if (share->dead && share->running == 0) quiet_.notify_all();
    }
    UpdateOffer(share);
  }
  if (throttled) ticker_->Arm();
  return done;
}

void Scheduler::Release(SmState& sm) {
  std::lock_guard lock(mutex_);
  SpaceShare* const share = sm.share;
  sm.share = nullptr;
  --share->running;
  if (share->dead && share->running == 0) quiet_.notify_all();
  UpdateOffer(share);
}

void Scheduler::PassGridBarrierIfComplete(Task* task) {
  if (task->at_grid_count == 0 || task->at_grid_count + task->finished_blocks != task->total_blocks) return;
  for (BlockRun* run = task->at_grid_barrier.head; run != nullptr; run = run->next) run->PassGridBarrier();
  task->suspended_count += task->at_grid_count;
  task->at_grid_count = 0;
  task->suspended.Append(task->at_grid_barrier);
}

void Scheduler::Drop(SpaceShare* share, std::vector<Task*>* dropped) {
  ticker_->Arm();
  std::lock_guard lock(mutex_);
  share->dead = true;
  for (TaskQueue& queue : share->queues) {
    while (Task* const task = queue.head) {
      queue.Remove(task);
      queued_tasks_.fetch_sub(1, std::memory_order_relaxed);
      DiscardRuns(&task->suspended);
      if (task->active_chunks == 0) {
        DiscardRuns(&task->at_grid_barrier);
        dropped->push_back(task);
      }
    }
  }
  share->queued_mask = 0;
  UpdateOffer(share);
  AbandonRunning(share);
}

void Scheduler::WaitQuiet(SpaceShare* share) {
  std::unique_lock lock(mutex_);
  while (share->running != 0) {
    AbandonRunning(share);
    quiet_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

void Scheduler::Revive(SpaceShare* share) {
  std::lock_guard lock(mutex_);
  share->dead = false;
  UpdateOffer(share);
}

void Scheduler::AbandonRunning(const SpaceShare* share) {
  for (SmState& sm : sm_states_) {
    if (sm.share != share || sm.task == nullptr) continue;
    sm.thread->stop.store(StopReason::kAbandon, std::memory_order_relaxed);
    sm.thread->Interrupt();
  }
}

bool Scheduler::Tick(uint64_t now_ns) {
  bool still_needed = false;
  std::lock_guard lock(mutex_);
  WakeThrottled(now_ns);
  if (busy_ != 0 && !throttled_.empty()) still_needed = true;
  for (SmState& sm : sm_states_) {
    if (sm.task == nullptr) continue;
    if (sm.share->dead) {
      AbandonRunning(sm.share);  // again: the last signal may have met our own code
      still_needed = true;
      continue;
    }
    if (!OthersWaitFor(sm)) continue;
    still_needed = true;
    const uint64_t ran_ns = now_ns - std::min(now_ns, sm.begin_ns);
    const SpaceShare& share = *sm.share;
    const bool over_budget = share.time_rate > 0 && static_cast<double>(ran_ns) > share.budget_ns + Ticker::kTickNs;
    const bool more_urgent =
        share.queued_mask != 0 && static_cast<uint32_t>(std::countr_zero(share.queued_mask)) < sm.task->urgency;
    if (!over_budget && !more_urgent && !policy_->MustGiveWay(share, ran_ns, now_ns)) continue;
    sm.thread->stop.store(StopReason::kPreempt, std::memory_order_relaxed);
    sm.thread->Interrupt();
  }
  return still_needed;
}

void Scheduler::UpdateOffer(SpaceShare* share) {
  const bool offer = !share->dead && share->queued_mask != 0 && share->running < share->max_sms && !share->throttled;
  if (offer == share->offered) return;
  if (offer) {
    policy_->Offer(share);
    ++offered_;
    gate_.Advance();
  } else {
    policy_->Withdraw(share);
    --offered_;
  }
  share->offered = offer;
}

void Scheduler::Enqueue(Task* task) {
  queued_tasks_.fetch_add(1, std::memory_order_relaxed);
  task->share->queues[task->urgency].PushBack(task);
  task->share->queued_mask |= 1u << task->urgency;
}

void Scheduler::Dequeue(Task* task) {
  TaskQueue& queue = task->share->queues[task->urgency];
  queue.Remove(task);
  queued_tasks_.fetch_sub(1, std::memory_order_relaxed);
  if (queue.head == nullptr) task->share->queued_mask &= ~(1u << task->urgency);
}

void Scheduler::RefillBudget(SpaceShare* share, uint64_t now_ns) {
  if (now_ns <= share->budget_at_ns) return;
  const double earned = static_cast<double>(now_ns - share->budget_at_ns) * share->time_rate;
  share->budget_ns = std::min(share->budget_ns + earned, kMostBudgetNs);
  share->budget_at_ns = now_ns;
}

void Scheduler::Throttle(SpaceShare* share, uint64_t now_ns) {
  share->throttled_until_ns = now_ns + static_cast<uint64_t>(std::ceil(-share->budget_ns / share->time_rate)) + 1;
  if (!share->throttled) throttled_.push_back(share);
  share->throttled = true;
}

// Offers those again whose time has come; the time of the next one, or 0.
uint64_t Scheduler::WakeThrottled(uint64_t now_ns) {
  uint64_t next_ns = 0;
  for (size_t i = 0; i < throttled_.size();) {
    SpaceShare* const share = throttled_[i];
    if (share->throttled_until_ns <= now_ns) {
      share->throttled = false;
      RefillBudget(share, now_ns);
      throttled_[i] = throttled_.back();
      throttled_.pop_back();
      UpdateOffer(share);
      continue;
    }
    if (next_ns == 0 || share->throttled_until_ns < next_ns) next_ns = share->throttled_until_ns;
    ++i;
  }
  return next_ns;
}

void Scheduler::DiscardRuns(RunList* runs) {
  while (BlockRun* const run = runs->Pop()) {
    run->GiveUp();
    pool_->Put(run);
  }
}

}  // namespace tutti::device::cpu
