// Tasks whose blocks only wait for others, where SMs share cores: such a task must not take a core from the blocks that
// it waits for, and is set aside.
#include <algorithm>

#include "device/cpu/schedule/scheduler.h"

namespace tutti::device::cpu {
namespace {

constexpr uint32_t kParkedTurn = 64;

}  // namespace

// Where SMs share cores, a task that only waits is not worth one more of them: it would take the core from the blocks
// that it waits for. So it is parked: no SM is woken for it, but one that is awake and has nothing else tries it, as
// long as there are cores. Should others keep all SMs, it has its turn after kParkedTurn chunks, and at every look of
// the ticker (no starvation).
//
// A task that is expected to wait is parked, too, while an SM runs it, there is no core for one more, and SMs run only
// such tasks: that SM takes it next. Another SM would hold its block without a core, and with it all blocks behind.
// Beside a task that computes, and has all the SMs it can get, a waiting task needs SMs for its share. A task that once
// waited and no longer does counts as one that computes.
bool Scheduler::IsCrowded(const Task& task) const {
  if (task.active_chunks == 0 || !HasAllCores() || !WillWait(task)) return false;
  return std::ranges::all_of(sm_states_, [](const SmState& sm) { return sm.task == nullptr || WillWait(*sm.task); });
}

// Its standing blocks have waited, or its kernel is known to wait, so that a short grid need not first wait on every
// SM.
bool Scheduler::WillWait(const Task& task) { return task.order.HasOnlyWaited() || task.habits->WaitOften(); }

void Scheduler::Park(Task* task, bool first) {
  TaskQueue& parked = task->share->parked;
  if (parked.head == nullptr) parked_.push_back(task->share);
  first ? parked.PushFront(task) : parked.PushBack(task);
}

void Scheduler::Unpark(Task* task) {
  task->share->parked.Remove(task);
  if (task->share->parked.head == nullptr) std::erase(parked_, task->share);
  Enqueue(task);
  UpdateOffer(task->share);
}

// The policy chooses among the shares: none has more for having more tasks that wait.
void Scheduler::UnparkOneOfEach() {
  unparked_.clear();
  for (const SpaceShare* const share : parked_) unparked_.push_back(share->parked.head);
  for (Task* const task : unparked_) Unpark(task);
}

SpaceShare* Scheduler::PickBesideParked(const SmState& sm, uint64_t now_ns) {
  if (++since_parked_ >= kParkedTurn) {
    since_parked_ = 0;
    UnparkOneOfEach();
  }
  SpaceShare* share = policy_->Pick(sm.index, now_ns);
  while (share == nullptr && !parked_.empty() && !HasAllCores()) {
    UnparkOneOfEach();
    share = policy_->Pick(sm.index, now_ns);
    if (share != nullptr) ParkAgain(share);
  }
  return share;
}

// Those of UnparkOneOfEach that were not picked, first as before.
void Scheduler::ParkAgain(const SpaceShare* picked) {
  for (Task* const task : unparked_) {
    if (task->share == picked) continue;
    Dequeue(task);
    Park(task, true);
    UpdateOffer(task->share);
  }
}

}  // namespace tutti::device::cpu
