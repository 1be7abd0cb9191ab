// Making blocks give way, and ending them.
//
// Whoever must not wait for a slice to end is seen at once, when it is submitted (MakeRoom). The rest is looked at by
// the ticker, which is told when that may first be: somebody waits, a budget runs out, a kernel has a time limit.
#include <algorithm>
#include <bit>
#include <chrono>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {

// As things are now: when what the SM runs must give way to others, or kNever.
uint64_t Scheduler::GivesWayAtNs(const SmState& sm, uint64_t now_ns) const {
  const SpaceShare& share = *sm.share;
  if (!share.sms.test(sm.index) || share.cap.running() > share.cap.max_sms()) return now_ns;
  if (share.queued_mask != 0 && static_cast<uint32_t>(std::countr_zero(share.queued_mask)) < sm.task->urgency)
    return now_ns;
  const uint64_t ran_ns = now_ns - std::min(now_ns, sm.begin_ns);
  uint64_t left_ns = share.cap.LeftNs(ran_ns, now_ns);
  if (sm.task->cap != nullptr) left_ns = std::min(left_ns, sm.task->cap->cap.LeftNs(ran_ns, now_ns));
  const uint32_t level = share.band * kUrgencies + sm.task->urgency;
  const Running running{
      .share = &share, .level = level, .sm = sm.index, .ran_ns = ran_ns, .charged_ns = sm.estimate_ns};
  return std::min(left_ns == kNever ? kNever : now_ns + left_ns, policy_->GivesWayAtNs(running, now_ns));
}

// When the SM should be looked at. One that should leave its block by now has been told; but it may not have been able
// to.
uint64_t Scheduler::NextLookNs(const SmState& sm, uint64_t now_ns) const {
  if (sm.task == nullptr) return kNever;
  uint64_t at_ns = sm.share->dead ? now_ns : GivesWayAtNs(sm, now_ns);
  if (const uint64_t limit_ns = sm.share->kernel_limit_ns; limit_ns != 0 && sm.task->is_kernel) {
    const uint64_t active_ns = sm.task->ActiveNs(now_ns);
    at_ns = std::min(at_ns, now_ns + (limit_ns > active_ns ? limit_ns - active_ns : 0));
  }
  return at_ns > now_ns ? at_ns : now_ns + kRemindNs;
}

uint64_t Scheduler::NextLookNs(uint64_t now_ns) const {
  uint64_t at_ns = kNever;
  for (const SmState& sm : sm_states_) at_ns = std::min(at_ns, NextLookNs(sm, now_ns));
  return at_ns;
}

// If no SM is idle for what waits most urgently: the least urgent block that must give way is told to. One at a time:
// the SM that becomes free by it looks again. Returns whom to interrupt.
const GuestThread* Scheduler::MakeRoom(uint64_t now_ns) {
  if (IdleSmHasNext(now_ns)) return nullptr;
  SmState* least_urgent = nullptr;
  uint32_t level = 0;
  for (SmState& sm : sm_states_) {
    if (sm.task == nullptr || !sm.thread->WasToldTo(StopReason::kNone)) continue;
    const uint32_t sm_level = sm.share->band * kUrgencies + sm.task->urgency;
    if (least_urgent != nullptr && sm_level <= level) continue;
    if (GivesWayAtNs(sm, now_ns) > now_ns) continue;
    least_urgent = &sm;
    level = sm_level;
  }
  return least_urgent != nullptr ? Tell(*least_urgent, StopReason::kPreempt) : nullptr;
}

// Returns the thread, which is to be interrupted: better without the lock, which it needs as soon as it leaves its
// block. Should it have taken other work by then, it has forgotten this, and the signal means nothing.
const GuestThread* Scheduler::Tell(SmState& sm, StopReason reason) {
  AskToStop(sm.thread->stop, reason);
  return sm.thread;
}

uint64_t Scheduler::Tick(uint64_t now_ns) {
  uint64_t next_ns = kNever;
  told_.clear();
  {
    std::lock_guard lock(mutex_);
    const uint64_t throttled_until_ns = WakeThrottled(now_ns);
    const bool parked = parked_.head != nullptr;
    while (parked_.head != nullptr) Unpark(parked_.head);
    for (SmState& sm : sm_states_) {
      if (sm.task == nullptr) continue;
      const uint64_t limit_ns = sm.share->kernel_limit_ns;
      if (sm.share->dead) {
        told_.push_back(Tell(sm, StopReason::kAbandon));  // again: the last signal may have met our own code
      } else if (limit_ns != 0 && sm.task->is_kernel && sm.task->ActiveNs(now_ns) >= limit_ns) {
        told_.push_back(Tell(sm, StopReason::kTimeLimit));
      } else if (GivesWayAtNs(sm, now_ns) <= now_ns) {
        told_.push_back(Tell(sm, StopReason::kPreempt));
      }
    }
    next_ns = std::min(NextLookNs(now_ns), busy_ != 0 ? throttled_until_ns : kNever);
    if (parked) next_ns = std::min(next_ns, now_ns + kRemindNs);
  }
  for (const GuestThread* thread : told_) thread->Interrupt();
  return next_ns;
}

void Scheduler::AbandonRunning(const SpaceShare* share) {
  for (SmState& sm : sm_states_) {
    if (sm.share == share && sm.task != nullptr) Tell(sm, StopReason::kAbandon)->Interrupt();
  }
}

void Scheduler::Drop(SpaceShare* share, std::vector<Task*>* dropped) {
  const uint64_t now_ns = clock_();
  ticker_->Arm(now_ns + kRemindNs);
  std::lock_guard lock(mutex_);
  share->dead = true;
  for (Task* task = parked_.head; task != nullptr;) {
    Task* const next = task->next;
    if (task->share == share) Unpark(task);
    task = next;
  }
  const auto drop_all = [&](TaskQueue& queue) {
    while (Task* const task = queue.head) {
      Dequeue(task);
      DiscardAll(task);
      if (task->active_chunks != 0) continue;
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
