// How a client leaves an executor that is to end while it is sound: in a context that several share, one has gone, or
// was ended, and its kernel runs on, which no driver takes off the GPU. When all others have left, the executor ends.
//
// Another executor is made ready first, so that the client notices no more than that it is given nothing while its own
// kernels end, and its memory is mapped: for a moment in both. A client whose kernels take long, or wait for others
// that are held back, goes on where it is, and tries again later. One that is bound stays as long as it is.
#include "base/log.h"
#include "cuda/result.h"
#include "device/gpu/gpu_space.h"
#include "device/gpu/pilot.h"

namespace tutti::device::gpu {
namespace {

constexpr uint64_t kMostHoldNs = 200'000'000;  // in which it is given nothing
constexpr uint64_t kPauseNs = 2'000'000'000;  // between two attempts
constexpr uint64_t kBoundPauseNs = 30'000'000'000;  // and two looks whether it is still bound
// That another executor refuses to take it. Each costs a context, so the pauses double.
constexpr uint32_t kMostRefused = 6;

}  // namespace

void GpuSpace::LookWhetherToLeave() {
  const uint64_t now_ns = NowNs();
  switch (leaving_) {
    case Leaving::kNo:
      if (now_ns < leave_at_ns_ || muted_ || error_ != 0) return;
      is_stalled_ = !executor_->executor()->is_to_be_left() && (!wants_out_ || executor_->is_alone());
      if (is_stalled_) {
        if (IsStalled(now_ns)) AskWhetherItHasBegun(now_ns);
        return;
      }
      if (const auto bound = WhyBound()) {
        log::Info("A program stays in an executor that it is to leave: {}", *bound);
        leave_at_ns_ = now_ns + kBoundPauseNs;
        return;
      }
      leaving_ = Leaving::kPrepares;
      aside_.Post([this] { PrepareToLeave(); });
      return;
    case Leaving::kLooks:
    case Leaving::kWithdraws: return LookForAnswer(now_ns);
    case Leaving::kDrains:
      if (ahead_ == 0) {
        leaving_ = Leaving::kMoves;
        aside_.Post([this] { MoveOver(); });
      } else if (now_ns > leave_at_ns_) {
        StayForNow();
      } else if (IsStalled(now_ns) && CanWithdraw()) {
        // What binds it may have come while the next one was made ready. From here on it is given nothing.
        if (!StaysBound(now_ns) && HasMover()) {
          leaving_ = Leaving::kWithdraws;
          executor_->AskToWithdraw(true);
        }
      }
      return;
    case Leaving::kPrepares:
    case Leaving::kMoves: return;
  }
}

// With the lock.
void GpuSpace::StayForNow() {
  leaving_ = Leaving::kNo;
  is_stalled_ = false;
  next_ = nullptr;
  current_.ExpectNone();
  leave_at_ns_ = NowNs() + kPauseNs;
  if (executor_ != nullptr) GiveWhatIsHeld();
}

void GpuSpace::PrepareToLeave() {
  auto taken = executors_->Take(
      &held_->window, suspicion_.is_alone(), [this](const auto& executor) { return current_.Expect(executor); },
      gone_.get_token());
  std::unique_lock lock(mutex_);
  if (leaving_ != Leaving::kPrepares) return;
  if (taken && is_stalled_ && !IsStalled(NowNs())) {  // it goes on meanwhile
    StayForNow();
    leave_at_ns_ = 0;
  } else if (taken) {
    next_ = std::move(*taken);
    leaving_ = Leaving::kDrains;
    leave_at_ns_ = NowNs() + kMostHoldNs;
    LookWhetherToLeave();
  } else {
    StayForNow();
  }
  UnlockAndRunDeferred(&lock);
}

// With the lock.
void GpuSpace::ArriveIn(std::shared_ptr<ExecutorLink> next) {
  executor_ = std::move(next);
  dispatch_.Connect(executor_->exchange());
  computed_ns_ = charged_until_ns_ = NowNs();  // until then nobody held it up, and it used nothing
  current_.Arrive();
  counters_.Add(metrics::Counter::moves);
}

void GpuSpace::MoveOver() {
  const auto replacing = current_.ReplacingWithin(std::chrono::nanoseconds(kMostHoldNs));
  std::shared_ptr<ExecutorLink> next;
  {
    std::unique_lock lock(mutex_);
    if (leaving_ != Leaving::kMoves) return;
    if (!replacing) {
      StayForNow();
      return UnlockAndRunDeferred(&lock);
    }
    next = next_;
  }
  const Status attached = HandOver(*next, Takes::kAll);
  if (!attached) NoteRefusal(*next);
  std::unique_lock lock(mutex_);
  if (leaving_ != Leaving::kMoves) return;  // the last one has ended meanwhile, or the client
  // What may bind it may have come while it waited for the executor.
  const auto bound = WhyBound();
  if (attached && !bound) {
    BeginAgain(WhatIsLeft());
    ArriveIn(std::move(next));
    log::Info("A program has left its executor for another one{}", executor_->is_alone() ? ", of its own" : "");
  } else {
    log::Info("A program stays in an executor that it is to leave: {}", bound ? *bound : attached.error().text);
    StayForNow();
    if (bound)
      leave_at_ns_ = NowNs() + kBoundPauseNs;
    else
      leave_at_ns_ = ++refused_moves_ < kMostRefused ? NowNs() + (kPauseNs << (refused_moves_ - 1)) : kNever;
  }
  UnlockAndRunDeferred(&lock);
  pilot_->Look();
}

}  // namespace tutti::device::gpu
