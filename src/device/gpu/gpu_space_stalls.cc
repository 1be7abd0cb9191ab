// How a client leaves an executor in which another one's kernel holds the device, for long or without end: what its
// driver has been given waits there, and no driver takes it back.
//
// Kernels that are fenced say that they have begun before they do anything (executor/launches.h). So if nothing of the
// client is done for a while, its executor is asked whether any of it has begun. If nothing has, another executor is
// made ready, and then it is withdrawn: its threads end as soon as they begin. Whoever computes there notices nothing,
// and the client goes on elsewhere with all that it had, though not with a kernel that has begun: nothing says what
// that has done already. So a program whose own kernels take long stays where it is.
//
// Copies and fills say nothing and cannot be withdrawn, so where others have places, the driver is given none behind a
// kernel of the client that is not done.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cuda/result.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kStallNs = 100'000'000;  // in which nothing is done that computes
constexpr uint64_t kBegunPauseNs = 200'000'000;  // between two looks, where something has begun
constexpr uint64_t kBoundPauseNs = 30'000'000'000;
constexpr uint64_t kMostWaitNs = 200'000'000;  // for an answer
constexpr uint64_t kAnswerNs = 20'000'000;  // after which the pilot looks, if it was not woken

}  // namespace

// One that has not come yet may be shared.
bool GpuSpace::MayWithdraw() const {
  if (!modules_.are_fenced() || held_->window.group.empty()) return false;
  return executor_ == nullptr || (!executor_->is_alone() && executor_->executor()->is_shared());
}

bool GpuSpace::IsStalled(uint64_t now_ns) const {
  return computing_ != 0 && now_ns > computed_ns_ + kStallNs && executor_ != nullptr && MayWithdraw();
}

uint64_t GpuSpace::NextLookForStallNs() const {
  if (leaving_ == Leaving::kLooks || leaving_ == Leaving::kWithdraws) return charged_until_ns_ + kAnswerNs;
  if (leaving_ != Leaving::kNo || error_ != 0 || !MayWithdraw()) return kNever;
  return std::max(computed_ns_ + kStallNs, leave_at_ns_) + 1;
}

// All that the driver has.
bool GpuSpace::CanWithdraw() const {
  return std::ranges::all_of(lent_.all(), [](const auto& lent) {
    return std::ranges::all_of(lent->unfinished, [&lent](const LentStreams::Given& given) {
      if (given.sequence > lent->given || given.operation->kind != Operation::Kind::kTask) return true;
      return static_cast<const GpuOperation*>(given.operation)->work == GpuOperation::Work::kLaunch;
    });
  });
}

void GpuSpace::AskWhetherItHasBegun(uint64_t now_ns) {
  leaving_ = Leaving::kLooks;
  leave_at_ns_ = now_ns + kMostWaitNs;
  executor_->AskToWithdraw(false);
}

void GpuSpace::LookForAnswer(uint64_t now_ns) {
  const auto has_not_begun = executor_->HasNotBegun();
  if (!has_not_begun && (now_ns <= leave_at_ns_ || !executor_->TakeBackQuestion())) return;
  if (has_not_begun.value_or(false)) {
    if (leaving_ == Leaving::kWithdraws) return LeaveWhatHasNotBegun();
    return PrepareForStalled(now_ns);
  }
  const bool was_stalled = is_stalled_;
  StayForNow();
  if (was_stalled) leave_at_ns_ = now_ns + kBegunPauseNs;
}

bool GpuSpace::HasMover() {
  if (mover_ != nullptr) return true;
  mover_ = std::make_unique<Aside>();
  if (!mover_->Start()) mover_ = nullptr;
  return mover_ != nullptr;
}

// Until it takes no executor any more that another one would be taken for. Not on that thread.
void GpuSpace::AwaitMover() {
  Aside* const mover = [this] {
    std::lock_guard lock(mutex_);
    return mover_.get();
  }();
  if (mover != nullptr) mover->Wait();
}

// With mutex_. True: it stays, and is looked at again after a long pause.
bool GpuSpace::StaysBound(uint64_t now_ns) {
  const auto bound = WhyBound();
  if (!bound) return false;
  log::Info("A program waits for another one's kernel, and cannot go elsewhere: {}", *bound);
  StayForNow();
  leave_at_ns_ = now_ns + kBoundPauseNs;
  return true;
}

// Its other thread may wait for what does not begin: as it unmaps memory, until no kernel runs that may use it.
void GpuSpace::PrepareForStalled(uint64_t now_ns) {
  if (StaysBound(now_ns)) return;
  if (!HasMover()) {
    StayForNow();
    leave_at_ns_ = now_ns + kBoundPauseNs;
    return;
  }
  leaving_ = Leaving::kPrepares;
  mover_->Post([this] { PrepareToLeave(); });
}

void GpuSpace::LeaveWhatHasNotBegun() {
  executor_->executor()->TakeNoMore();  // who came would wait, too
  if (!TakeLastMarks()) {
    return LoseExecutor(
        {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's executor says what cannot be"});
  }
  // Whoever waits for an answer of it asks the next one.
  if (!current_.Leave(CurrentExecutor::Was::kSound)) {
    return LoseExecutor(
        {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, .text = "the program's executor is lost as it is left"});
  }
  auto next = std::move(next_);
  BeginAgain(WhatIsLeft());
  mover_->Post([this, next = std::move(next)]() mutable { GoOnIn(std::move(next)); });
}

// On the thread for what waits. There is no way back: what the next one refuses, others are asked for.
void GpuSpace::GoOnIn(std::shared_ptr<ExecutorLink> next) {
  const auto replacing = current_.Replacing();
  const Status attached = HandOver(*next, Takes::kAll);
  if (!attached) {
    NoteRefusal(*next);
    return AcquireExecutor(Takes::kAll, replacing);
  }
  std::unique_lock lock(mutex_);
  if (lost_) return;  // meanwhile, and it with it
  ArriveIn(std::move(next));
  log::Info("A program goes on in another executor: what it had begun nowhere waited for another program's kernel");
  UnlockAndRunDeferred(&lock);
  pilot_->Look();
}

}  // namespace tutti::device::gpu
