// Making blocks give way, and ending them.
//
// Whoever must not wait for a slice to end is seen at once, when it is submitted (MakeRoom). The rest is looked at by the
// ticker, which runs only while something could have to be stopped: somebody waits, a budget runs out, a kernel has a
// time limit.
#include <algorithm>
#include <bit>
#include <chrono>

#include "base/clock.h"
#include "device/cpu/scheduler.h"

namespace tutti::device::cpu {

bool Scheduler::NeedsTicks(const SmState& sm) const {
  if (sm.task == nullptr) return false;
  if (sm.share->dead || sm.share->kernel_limit_ns != 0) return true;
  if (sm.share->cap.limits_time() || (sm.task->cap != nullptr && sm.task->cap->cap.limits_time())) return true;
  if (offered_ > (sm.share->offered ? 1u : 0u) || !sm.share->sms.test(sm.index)) return true;
  return sm.share->queued_mask != 0 &&
         static_cast<uint32_t>(std::countr_zero(sm.share->queued_mask)) < sm.task->urgency;
}

bool Scheduler::MustGiveWay(const SmState& sm, uint64_t now_ns) const {
  const SpaceShare& share = *sm.share;
  const uint64_t ran_ns = now_ns - std::min(now_ns, sm.begin_ns);
  if (!share.sms.test(sm.index)) return true;
  if (share.cap.running() > share.cap.max_sms()) return true;
  if (share.cap.IsSpentBy(ran_ns, now_ns)) return true;
  if (sm.task->cap != nullptr && sm.task->cap->cap.IsSpentBy(ran_ns, now_ns)) return true;
  if (share.queued_mask != 0 && static_cast<uint32_t>(std::countr_zero(share.queued_mask)) < sm.task->urgency)
    return true;
  const uint32_t level = share.band * kUrgencies + sm.task->urgency;
  return policy_->MustGiveWay({.share = &share, .level = level, .sm = sm.index, .ran_ns = ran_ns}, now_ns);
}

// If no SM is idle for what waits most urgently: the least urgent block that must give way is told to. One at a time:
// the SM that becomes free by it looks again.
void Scheduler::MakeRoom(uint64_t now_ns) {
  if (IdleSmHasNext(now_ns)) return;
  SmState* least_urgent = nullptr;
  uint32_t level = 0;
  for (SmState& sm : sm_states_) {
    if (sm.task == nullptr || !sm.thread->WasToldTo(StopReason::kNone)) continue;
    const uint32_t sm_level = sm.share->band * kUrgencies + sm.task->urgency;
    if (least_urgent != nullptr && sm_level <= level) continue;
    if (!MustGiveWay(sm, now_ns)) continue;
    least_urgent = &sm;
    level = sm_level;
  }
  if (least_urgent != nullptr) Stop(*least_urgent, StopReason::kPreempt);
}

void Scheduler::Stop(SmState& sm, StopReason reason) {
  if (sm.thread->stop.load(std::memory_order_relaxed) < reason)
    sm.thread->stop.store(reason, std::memory_order_relaxed);
  sm.thread->Interrupt();
}

bool Scheduler::Tick(uint64_t now_ns) {
  bool still_needed = false;
  std::lock_guard lock(mutex_);
  WakeThrottled(now_ns);
  if (busy_ != 0 && !throttled_.empty()) still_needed = true;
  for (SmState& sm : sm_states_) {
    if (!NeedsTicks(sm)) continue;
    still_needed = true;
    const uint64_t limit_ns = sm.share->kernel_limit_ns;
    if (sm.share->dead) {
      Stop(sm, StopReason::kAbandon);  // again: the last signal may have met our own code
    } else if (limit_ns != 0 && sm.task->is_kernel && sm.task->ActiveNs(now_ns) > limit_ns) {
      Stop(sm, StopReason::kTimeLimit);
    } else if (MustGiveWay(sm, now_ns)) {
      Stop(sm, StopReason::kPreempt);
    }
  }
  return still_needed;
}

void Scheduler::AbandonRunning(const SpaceShare* share) {
  for (SmState& sm : sm_states_) {
    if (sm.share == share && sm.task != nullptr) Stop(sm, StopReason::kAbandon);
  }
}

void Scheduler::Drop(SpaceShare* share, std::vector<Task*>* dropped) {
  ticker_->Arm();
  std::lock_guard lock(mutex_);
  share->dead = true;
  const uint64_t now_ns = NowNs();
  const auto drop_all = [&](TaskQueue& queue) {
    while (Task* const task = queue.head) {
      Dequeue(task);
      DiscardRuns(&task->suspended);
      if (task->active_chunks != 0) continue;
      DiscardRuns(&task->at_grid_barrier);
      TaskEnds(share, now_ns);
      dropped->push_back(task);
    }
  };
  for (TaskQueue& queue : share->queues) drop_all(queue);
  for (const auto& context : share->contexts) drop_all(context->held);
  UpdateOffer(share);
  AbandonRunning(share);
}

void Scheduler::WaitQuiet(SpaceShare* share) {
  std::unique_lock lock(mutex_);
  while (share->running() != 0) {
    AbandonRunning(share);
    quiet_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

void Scheduler::Revive(SpaceShare* share) {
  std::lock_guard lock(mutex_);
  share->dead = false;
  UpdateOffer(share);
}

}  // namespace tutti::device::cpu
