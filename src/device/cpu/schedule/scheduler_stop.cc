// Preemption: taking SMs away from blocks, and ending blocks for good.
//
// A block may run for ever, so no SM waits for one to end. A block that must yield is preempted in three steps. The
// scheduler writes a request into the SM's thread (AskToStop) and sends it a signal. The thread leaves the block: guest
// code at once, a service at its end (guest/exec/guest_code.h). Its worker returns the block (Finish), which stands in
// its task's order until an SM resumes it; this SM takes what the policy picks next.
//
// Requests may be late, and need not be withdrawn: an SM that takes new work clears the request under the lock (Begin),
// so a late signal finds none. A signal that a thread could not act on is repeated every kRemindNs.
//
// Two callers decide when to preempt:
// * MakeRoom, for what is due at once, when a task is submitted, a chunk begins or limits change: a more urgent task
//   must not wait for a slice to end.
// * Tick, for what becomes due with time. GivesWayAtNs says when, for each SM and as things are now: a cap's budget
//   runs out, or the policy's slice ends; a kernel's time limit comes on top. The ticker sleeps until the earliest of
//   these (NextLookNs), and whoever changes what they depend on arms it (ticker.h).
//
// To end a client, Drop discards its tasks and abandons its blocks; WaitQuiet repeats the request until no SM works for
// it. That is bounded, since guest code cannot refuse.
#include <algorithm>
#include <bit>
#include <chrono>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

// A GPU copies beside its SMs. So no copy or fill waits for longer than this for a block of its own client's, which may
// run for ever: but for those that are more urgent.
constexpr uint64_t kTransferWaitsNs = 500'000;
// There, blocks of several grids are on an SM side by side, and those that have begun go on. So no grid of which some
// have waits for longer than this, with all of its blocks, for those of another grid of its client. One of which none
// has begun waits as it would there.
constexpr uint64_t kBegunWaitsNs = 2'000'000;

bool HasTransferFor(const SpaceShare& share, uint32_t urgency) {
  return std::any_of(share.queued_transfers, share.queued_transfers + urgency + 1,
                     [](uint32_t tasks) { return tasks != 0; });
}

}  // namespace

// When what the SM runs must yield to others, as of now, or kNever.
uint64_t Scheduler::GivesWayAtNs(const SmState& sm, uint64_t now_ns) const {
  const SpaceShare& share = *sm.share;
  if (!share.sms.test(sm.index) || share.cap.running() > share.cap.max_sms()) return now_ns;
  if (share.queued_mask != 0 && static_cast<uint32_t>(std::countr_zero(share.queued_mask)) < sm.task->urgency)
    return now_ns;
  const uint64_t ran_ns = now_ns - std::min(now_ns, sm.begin_ns);
  uint64_t left_ns = share.cap.LeftNs(ran_ns, now_ns);
  if (sm.task->cap != nullptr) left_ns = std::min(left_ns, sm.task->cap->cap.LeftNs(ran_ns, now_ns));
  if (sm.group != nullptr) {
    if (sm.group->overfull()) return now_ns;
    left_ns = std::min(left_ns, sm.group->part.LeftNs(now_ns - std::min(now_ns, sm.group_since_ns), now_ns));
  }
  if (sm.task->is_kernel && HasTransferFor(share, sm.task->urgency))
    left_ns = std::min(left_ns, kTransferWaitsNs - std::min(ran_ns, kTransferWaitsNs));
  if (sm.task->is_kernel && share.held_up[sm.task->urgency] != 0)
    left_ns = std::min(left_ns, kBegunWaitsNs - std::min(ran_ns, kBegunWaitsNs));
  const uint32_t level = share.band * kUrgencies + sm.task->urgency;
  const Running running{
      .share = &share, .level = level, .sm = sm.index, .ran_ns = ran_ns, .charged_ns = sm.estimate_ns};
  return std::min(left_ns == kNever ? kNever : now_ns + left_ns, policy_->GivesWayAtNs(running, now_ns));
}

// When to look at the SM. If its block is overdue the request has been made, but may not have taken effect yet.
uint64_t Scheduler::NextLookNs(const SmState& sm, uint64_t now_ns) const {
  if (sm.task == nullptr) return kNever;
  uint64_t at_ns = sm.share->dead ? now_ns : GivesWayAtNs(sm, now_ns);
  if (const uint64_t limit_ns = KernelLimitNs(*sm.task); limit_ns != 0) {
    const uint64_t active_ns = sm.task->ActiveNs(now_ns);
    at_ns = std::min(at_ns, now_ns + (limit_ns > active_ns ? limit_ns - active_ns : 0));
  }
  if (MayBeUrged(sm)) at_ns = std::min(at_ns, now_ns + kUrgentLookNs);
  return at_ns > now_ns ? at_ns : now_ns + kRemindNs;
}

uint64_t Scheduler::NextLookNs(uint64_t now_ns) const {
  uint64_t at_ns = kNever;
  for (const SmState& sm : sm_states_) at_ns = std::min(at_ns, NextLookNs(sm, now_ns));
  return at_ns;
}

// If no SM is idle for the most urgent waiting task, preempts the least urgent block that must yield. One at a time:
// the SM that becomes free looks again. Returns the thread to interrupt.
const guest::GuestThread* Scheduler::MakeRoom(uint64_t now_ns) {
  if (IdleSmHasNext(now_ns)) return nullptr;
  SmState* least_urgent = nullptr;
  uint32_t highest = kLevels;
  while (highest != 0 && running_levels_[highest - 1] == 0) --highest;
  if (highest == 0) return nullptr;  // all have been told
  const uint32_t first = many_ ? room_from_ : 0;
  for (uint32_t i = 0; i < sms(); ++i) {
    SmState& sm = sm_states_[first + i < sms() ? first + i : first + i - sms()];
    if (!sm.counted || !sm.thread->WasToldTo(guest::StopReason::kNone)) continue;
    if (least_urgent != nullptr && sm.level <= least_urgent->level) continue;
    if (GivesWayAtNs(sm, now_ns) > now_ns) continue;
    least_urgent = &sm;
    if (sm.level + 1 < highest) continue;
    room_from_ = sm.index + 1 < sms() ? sm.index + 1 : 0;  // those before it have been told to stop, or soon end
    break;
  }
  return least_urgent != nullptr ? AskToStop(*least_urgent, guest::StopReason::kPreempt) : nullptr;
}

// Returns the thread, to be interrupted preferably without the lock, which it needs as soon as it leaves its block. If
// it has taken other work by then the request is cleared, and the signal has no effect.
const guest::GuestThread* Scheduler::AskToStop(SmState& sm, guest::StopReason reason) {
  guest::AskToStop(sm.thread->stop, reason);
  UncountLevel(sm);
  return sm.thread;
}

uint64_t Scheduler::Tick(uint64_t now_ns) {
  uint64_t next_ns = kNever;
  // What waits may be little: many SMs stop some at a time, but for policies that give the device to one at a time.
  const uint32_t most_preempted = many_ && !policy_->is_exclusive() ? sms() / 8 : sms();
  uint32_t preempted = 0;
  bool goes_on = false;  // more are to be told soon
  bool has_room = false;
  to_interrupt_.clear();
  {
    std::lock_guard lock(mutex_);
    const uint64_t throttled_until_ns = WakeThrottled(now_ns);
    if (peers_ != nullptr) {
      OpenGroups(now_ns);
      has_room = TellOfRoom();
    }
    const bool parked = !parked_.empty();
    while (!parked_.empty()) Unpark(parked_.front()->parked.head);
    for (SmState& sm : sm_states_) {
      if (sm.task == nullptr) continue;
      const uint64_t limit_ns = KernelLimitNs(*sm.task);
      if (sm.share->dead) {
        // Again: the last signal may have hit our own code.
        to_interrupt_.push_back(AskToStop(sm, guest::StopReason::kAbandon));
      } else if (limit_ns != 0 && sm.task->ActiveNs(now_ns) >= limit_ns) {
        to_interrupt_.push_back(AskToStop(sm, guest::StopReason::kTimeLimit));
      } else if (GivesWayAtNs(sm, now_ns) <= now_ns) {
        goes_on |= preempted == most_preempted;
        if (preempted == most_preempted && sm.counted) continue;
        preempted += sm.counted ? 1 : 0;  // one that has been told, and has not left, takes nobody's place
        to_interrupt_.push_back(AskToStop(sm, guest::StopReason::kPreempt));
      }
    }
    next_ns = std::min(NextLookNs(now_ns), busy_ != 0 ? throttled_until_ns : kNever);
    if (goes_on) next_ns = std::min(next_ns, now_ns + LookTimer::kLeastPauseNs);
    // While blocks run for long, too, others hear what is wanted.
    if (parked || (peers_ != nullptr && busy_ != 0)) next_ns = std::min(next_ns, now_ns + kRemindNs);
    looked_at_ns_ = now_ns;
    no_room_ = false;
  }
  for (const guest::GuestThread* thread : to_interrupt_) thread->Interrupt();
  if (has_room) Wake();
  return next_ns;
}

void Scheduler::AbandonRunning(const SpaceShare* share) {
  for (SmState& sm : sm_states_) {
    if (sm.share == share && sm.task != nullptr) AskToStop(sm, guest::StopReason::kAbandon)->Interrupt();
  }
}

void Scheduler::Drop(SpaceShare* share, std::vector<Task*>* dropped) {
  const uint64_t now_ns = clock_();
  ticker_->Arm(now_ns + kRemindNs);
  std::lock_guard lock(mutex_);
  share->dead = true;
  while (Task* const task = share->parked.head) Unpark(task);
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
