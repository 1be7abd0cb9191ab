// What shares may use, and which of them are offered to the policy.
//
// A share is offered while it has something ready and its cap is open. Within a share, tasks of a context whose own cap
// is shut are set aside (ContextCap::held) when they reach the head of a queue, and come back when it opens. So the
// policy sees only what may run.
#include <algorithm>
#include <bit>

#include "cuda/result.h"
#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {

void Scheduler::SetPolicy(Policy policy) {
  std::lock_guard lock(mutex_);
  policy_ = NewPolicy(policy, sms());
  told_turn_ = 0;
  offered_ = 0;
  for (const auto& group : groups_) group->offered = 0;
  for (SpaceShare* share : shares_) {
    share->offered = false;
    share->virtual_ns = 0;  // its meaning is the policy's
    ApplyPercentage(share);
    UpdateOffer(share);
  }
  gate_.Advance();
  gate_.WakeAll();
}

void Scheduler::AddShare(SpaceShare* share) {
  std::lock_guard lock(mutex_);
  shares_.push_back(share);
  JoinGroup(share);
}

void Scheduler::RemoveShare(SpaceShare* share) {
  bool last;
  {
    std::lock_guard lock(mutex_);
    share->dead = true;
    UpdateOffer(share);
    policy_->Forget(share);
    std::erase(shares_, share);
    ForgetThrottled(share, nullptr);
    for (const auto& context : share->contexts) ForgetThrottled(share, context.get());
    LeaveGroup(share);
    if (!share->sms.all()) restricted_.fetch_sub(1, std::memory_order_relaxed);
    last = shares_.empty();
  }
  if (!pool_->ClientEnded(last)) return;
  gate_.Advance();
  gate_.WakeAll();  // SMs hold a run each
}

// A task that has begun is on an SM, or in a queue since it has blocks left.
void Scheduler::ForEachBegun(const SpaceShare* share, const std::function<void(const Task&)>& look) {
  std::lock_guard lock(mutex_);
  const auto in_queue = [&](const TaskQueue& queue) {
    for (const Task* task = queue.head; task != nullptr; task = task->next) {
      if (task->share == share && task->begun_ns != 0) look(*task);
    }
  };
  for (const TaskQueue& queue : share->queues) in_queue(queue);
  for (const auto& context : share->contexts) in_queue(context->held);
  in_queue(share->parked);
  for (auto sm = sm_states_.begin(); sm != sm_states_.end(); ++sm) {
    const auto on_earlier = [&](const SmState& earlier) { return earlier.task == sm->task; };
    if (sm->task == nullptr || sm->task->share != share || sm->task->queue != nullptr) continue;
    if (std::none_of(sm_states_.begin(), sm, on_earlier)) look(*sm->task);
  }
}

void Scheduler::SetLimits(SpaceShare* share, const ShareLimits& limits) {
  RescheduleRequest request{.scheduler = this, .wake = true};
  {
    std::lock_guard lock(mutex_);
    TakeBackOffer(share);  // policies sort by what changes here
    if (share->sms.all() != limits.sms.all()) {
      restricted_.fetch_add(limits.sms.all() ? ~0u : 1u, std::memory_order_relaxed);
    }
    share->sms = limits.sms;
    share->band = limits.band < kBands ? limits.band : kBands - 1;
    share->kernel_limit_ns = limits.kernel_limit_ns;
    share->percentage = limits.percentage;
    ApplyPercentage(share);
    JoinGroup(share);
    UpdateOffer(share);
    for (SmState& sm : sm_states_) {
      if (!sm.counted || sm.share != share) continue;
      UncountLevel(sm);
      CountLevel(sm);
    }
    const uint64_t now_ns = clock_();
    no_room_ = false;
    if (busy_ != 0) request.interrupt[0] = MakeRoom(now_ns);
    request.look_at_ns = NextLookNs(now_ns);
  }
  gate_.Advance();
  Perform(request);
}

// Of the device, not of the SMs that the share is bound to.
void Scheduler::ApplyPercentage(SpaceShare* share) {
  const double percentage = policy_->uses_percentages() ? share->percentage : 100;
  share->weight = percentage;
  ForgetThrottled(share, nullptr);
  share->cap.Set(percentage / 100 * sms(), sms(), clock_());
  CountUsable(share);
}

Status Scheduler::LimitContext(SpaceShare* share, uint32_t context, double part) {
  RescheduleRequest request{.scheduler = this, .wake = true};
  {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find(share->contexts, context, [](const auto& capped) { return capped->context; });
    if (found == share->contexts.end()) {
      if (share->contexts.size() >= kMostContextCaps)
        return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "too many contexts with a limit of their own");
      share->contexts.push_back(std::make_unique<ContextCap>());
      found = std::prev(share->contexts.end());
      (*found)->share = share;
      (*found)->context = context;
    }
    ForgetThrottled(share, found->get());
    (*found)->cap.Set(part * sms(), sms(), clock_());
    ReleaseHeld(found->get());
    UpdateOffer(share);
    request.look_at_ns = NextLookNs(clock_());
  }
  gate_.Advance();
  Perform(request);
  return {};
}

// True if it is offered anew, and so idle SMs have been notified.
bool Scheduler::UpdateOffer(SpaceShare* share) {
  if (!ChangeOffer(share)) return false;
  gate_.Advance();
  unheard_ = false;
  return true;
}

// True if it is offered anew.
bool Scheduler::ChangeOffer(SpaceShare* share) {
  CountOpenBatches(share);
  if (!share->contexts.empty()) HoldCapped(share);
  const bool offer = !share->dead && share->queued_mask != 0 && share->cap.open();
  const uint32_t level =
      offer ? share->band * kUrgencies + static_cast<uint32_t>(std::countr_zero(share->queued_mask)) : share->level;
  if (offer == share->offered && level == share->level) return false;
  TakeBackOffer(share);
  share->level = level;
  if (!offer) return false;
  policy_->Offer(share);
  share->offered = true;
  ++offered_;
  if (share->group != nullptr) ++share->group->offered;
  return true;
}

void Scheduler::TakeBackOffer(SpaceShare* share) {
  if (!share->offered) return;
  policy_->Withdraw(share);
  share->offered = false;
  --offered_;
  if (share->group != nullptr) --share->group->offered;
}

void Scheduler::HoldCapped(SpaceShare* share) {
  while (share->queued_mask != 0) {
    Task* const task = share->queues[std::countr_zero(share->queued_mask)].head;
    if (task->cap == nullptr || task->cap->cap.open()) return;
    Dequeue(task);
    CountQueued(task, true);
    task->cap->held.PushBack(task);
  }
}

void Scheduler::ReleaseHeld(ContextCap* context) {
  if (!context->cap.open()) return;
  while (Task* const task = context->held.head) {
    Dequeue(task);
    Enqueue(task);
  }
}

void Scheduler::Spend(const SmState& sm, uint64_t ran_ns, uint64_t now_ns) {
  const auto spend = [&](Cap& cap, ContextCap* context) {
    const bool was_throttled = cap.throttled();
    if (!cap.Spend(ran_ns, now_ns) || was_throttled) return;
    throttled_.push_back({sm.share, context});
    throttled_until_ns_ = std::min(throttled_until_ns_, cap.throttled_until_ns());
    sm.share->Count(metrics::Counter::throttles);
  };
  if (sm.group != nullptr) SpendOfGroup(sm, ran_ns, now_ns);
  spend(sm.share->cap, nullptr);
  if (sm.task->cap != nullptr) spend(sm.task->cap->cap, sm.task->cap);
}

// Offers the shares again whose time has come; returns the time of the next one, or kNever.
uint64_t Scheduler::WakeThrottled(uint64_t now_ns) {
  if (now_ns < throttled_until_ns_) return throttled_until_ns_;
  uint64_t next_ns = kNever;
  for (size_t i = 0; i < throttled_.size();) {
    const Throttled throttled = throttled_[i];
    const uint64_t until_ns = throttled.cap().throttled_until_ns();
    if (until_ns > now_ns) {
      next_ns = std::min(next_ns, until_ns);
      ++i;
      continue;
    }
    throttled_[i] = throttled_.back();
    throttled_.pop_back();
    throttled.cap().Resume(now_ns);
    if (throttled.context != nullptr) ReleaseHeld(throttled.context);
    UpdateOffer(throttled.share);
    no_room_ = false;
  }
  throttled_until_ns_ = next_ns;
  return next_ns;
}

void Scheduler::ForgetThrottled(const SpaceShare* share, const ContextCap* context) {
  std::erase_if(throttled_, [&](const Throttled& entry) { return entry.share == share && entry.context == context; });
}

}  // namespace tutti::device::cpu
