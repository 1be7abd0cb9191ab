#include "device/gpu/current_executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cuda/result.h"

namespace tutti::device::gpu {

using Clock = std::chrono::steady_clock;

Result<std::shared_ptr<ExecutorLink>> CurrentExecutor::Current() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return executor_ != nullptr || lost_ || replaced_; });
  if (lost_) return std::unexpected(*lost_);
  if (executor_ == nullptr) return Fail(cuda::CUDA_ERROR_DEVICE_UNAVAILABLE, "the program's executor has ended");
  return executor_;
}

CurrentExecutor::Next CurrentExecutor::NextOne() {
  std::lock_guard lock(mutex_);
  if (lost_) return Next::kNone;
  if (replaced_) return was_ == Was::kSound ? Next::kInPlaceOfSound : Next::kAfterEnd;
  return executor_ != nullptr && executor_->HasEnded() && !executor_->has_lied() ? Next::kAfterEnd : Next::kNone;
}

uint64_t CurrentExecutor::replacements() {
  std::lock_guard lock(mutex_);
  return replacements_;
}

// Whoever looks after the Space (device/gpu/pilot.h) sees its end, and decides.
void CurrentExecutor::AwaitReplacement(uint64_t before) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this, before] { return replacements_ != before || lost_; });
}

std::optional<PlaceEnd> CurrentExecutor::Leave(Was was) {
  std::optional<PlaceEnd> end;
  {
    std::lock_guard lock(mutex_);
    if (executor_ == nullptr) return std::nullopt;
    end = executor_->end();
    End(&executor_);
    replaced_ = true;
    was_ = was;
  }
  changed_.notify_all();
  return end;
}

Result<CurrentExecutor::Reply> CurrentExecutor::Ask(const executor::Request& request, int file) {
  TUTTI_ASSIGN(std::shared_ptr<ExecutorLink> executor, Current());
  TUTTI_ASSIGN(ExecutorLink::Reply reply, executor->Ask(request, file));
  return Reply{std::move(reply), std::move(executor)};
}

void CurrentExecutor::Unmap(uint64_t address, uint64_t bytes) {
  const auto executor = Current();
  if (!executor) return;
  const auto unmapped =
      (*executor)->Ask({.kind = executor::RequestKind::kUnmapSlab, .address = address, .bytes = bytes});
  const bool is_looked_after = (*executor)->HasEnded() || (*executor)->Failure();  // by whoever sees that (NoteEnd)
  if (!unmapped && (!is_looked_after || (*executor)->has_lied()))
    Lose(executor->get(), {.code = cuda::CUDA_ERROR_DEVICE_UNAVAILABLE,
                           .text = "memory cannot be unmapped by the program's executor: " + unmapped.error().text});
}

bool CurrentExecutor::Is(const ExecutorLink* which) {
  std::lock_guard lock(mutex_);
  return executor_.get() == which;
}

bool CurrentExecutor::Expect(std::shared_ptr<ExecutorLink> executor) {
  executor->LetGoBy([sink = sink_, closing = closing_](os::Fd first, os::Fd socket) {
    {
      std::lock_guard lock(closing->mutex);
      ++closing->left;
    }
    auto files = std::make_shared<std::pair<os::Fd, os::Fd>>(std::move(first), std::move(socket));
    sink->LetGo([closing, files] {
      *files = {};
      std::lock_guard lock(closing->mutex);
      --closing->left;
      closing->closed.notify_all();
    });
  });
  std::lock_guard lock(mutex_);
  End(&expected_);
  expected_ = std::move(executor);
  if (lost_) LoseLocked(*lost_);
  return !lost_;
}

void CurrentExecutor::ExpectNone() {
  std::lock_guard lock(mutex_);
  End(&expected_);
}

void CurrentExecutor::Arrive() {
  {
    std::lock_guard lock(mutex_);
    End(&executor_);
    executor_ = std::exchange(expected_, nullptr);
    replaced_ = false;
    ++replacements_;
  }
  changed_.notify_all();
}

void CurrentExecutor::Lose(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    LoseLocked(why);
  }
  changed_.notify_all();
}

void CurrentExecutor::Lose(const ExecutorLink* which, const Error& why) {
  {
    std::lock_guard lock(mutex_);
    if (executor_.get() != which) return;
    LoseLocked(why);
  }
  changed_.notify_all();
}

void CurrentExecutor::LoseLocked(const Error& why) {
  End(&expected_);
  End(&executor_);
  replaced_ = false;
  if (!lost_) lost_ = why;
}

void CurrentExecutor::End(std::shared_ptr<ExecutorLink>* executor) {
  if (*executor == nullptr) return;
  (*executor)->Kill();
  ending_.push_back((*executor)->end());
  executor->reset();
}

std::vector<PlaceEnd> CurrentExecutor::AwaitEnd(int patience_ms) {
  std::vector<PlaceEnd> ending;
  {
    std::lock_guard lock(mutex_);
    ending.swap(ending_);
  }
  const auto deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
  std::erase_if(ending, [deadline](const PlaceEnd& end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return end.Await(std::max(static_cast<int>(left.count()), 0));
  });
  for (const PlaceEnd& end : ending) end.HaveOthersLeave();
  std::lock_guard lock(mutex_);
  std::erase_if(left_, [](const PlaceEnd& end) { return end.IsOver(); });
  left_.insert(left_.end(), ending.begin(), ending.end());
  return left_;
}

void CurrentExecutor::ForgetWhatIsOver() {
  std::lock_guard lock(mutex_);
  for (auto* const ends : {&ending_, &left_}) std::erase_if(*ends, [](const PlaceEnd& end) { return end.IsOver(); });
}

bool CurrentExecutor::AwaitClosed(int patience_ms) {
  std::unique_lock lock(closing_->mutex);
  return closing_->closed.wait_for(lock, std::chrono::milliseconds(patience_ms),
                                   [this] { return closing_->left == 0; });
}

void CurrentExecutor::Await() {
  std::lock_guard lock(mutex_);
  expected_.reset();
  executor_.reset();
  replaced_ = false;
  lost_.reset();
}

}  // namespace tutti::device::gpu
