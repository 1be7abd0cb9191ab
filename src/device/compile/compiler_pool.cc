#include "device/compile/compiler_pool.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "cuda/result.h"
#include "os/memory.h"
#include "os/thread.h"

namespace tutti::device {
namespace {

constexpr std::chrono::milliseconds kLook{10};  // how often a request checks for cancellation
constexpr uint64_t kPatienceNs = 200'000'000;  // how long a client without a place waits while others have all of them
constexpr int kCancelled = cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED;

}  // namespace

CompilerPool::~CompilerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    end_unattended_ = true;
  }
  idle_changed_.notify_all();
  if (finisher_.joinable()) finisher_.join();
  if (reaper_.joinable()) reaper_.join();
}

size_t CompilerPool::workers() const {
  const std::lock_guard lock(mutex_);
  return idle_.size() + busy_;
}

// In the background one goes on at least, whatever others want, and those in addition.
bool CompilerPool::HasPlaceFor(const Turn& turn, uint64_t waited_ns) const {
  if (!turn.is_awaited()) {
    if (busy_ < settings_.max_compilers && waiting_ == 0) return true;
    const bool has_own = in_background_ == in_addition_ || turn.urgency == Urgency::kBackgroundInAddition;
    return waited_ns > settings_.background_patience_ns && has_own;
  }
  const uint32_t busy = busy_ - in_background_;
  if (busy < settings_.max_compilers) return true;
  return waited_ns > kPatienceNs && busy < settings_.max_compilers + kCompilersInAddition &&
         !busy_for_.contains(&turn.client);
}

Result<std::unique_ptr<CompilerProcess>> CompilerPool::TakePlace(const Turn& turn) {
  const uint64_t since_ns = NowNs();
  const uint32_t waits = turn.is_awaited() ? 1 : 0;
  std::unique_lock lock(mutex_);
  waiting_ += waits;
  while (!HasPlaceFor(turn, NowNs() - since_ns)) {
    if (waits != 0) EndUnattended();
    place_free_.wait_for(lock, kLook);
    if (!turn.client.load(std::memory_order_relaxed)) continue;
    waiting_ -= waits;
    return Fail(kCancelled, "nobody waits for it");
  }
  waiting_ -= waits;
  ++busy_;
  in_background_ += 1 - waits;
  in_addition_ += turn.urgency == Urgency::kBackgroundInAddition ? 1 : 0;
  ++busy_for_[&turn.client];
  auto chosen = std::ranges::find(idle_, turn.image, &Idle::image);
  const bool fresh = chosen == idle_.end();
  if (fresh) {
    if (idle_.empty() || idle_.size() + busy_ <= settings_.max_compilers) return nullptr;
    chosen = idle_.begin();
  }
  auto process = std::move(chosen->process);
  idle_.erase(chosen);
  if (!fresh) return process;
  lock.unlock();
  process.reset();  // to make room
  return nullptr;
}

void CompilerPool::GiveBack(std::unique_ptr<CompilerProcess> process, const Turn& turn) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    in_background_ -= turn.is_awaited() ? 0 : 1;
    in_addition_ -= turn.urgency == Urgency::kBackgroundInAddition ? 1 : 0;
    TakeFrom(turn.client);
    // An additional worker ends with its request.
    if (process != nullptr && idle_.size() + busy_ - in_background_ < settings_.max_compilers) {
      idle_.push_back({std::move(process), turn.image, NowNs()});
      if (!reaper_.joinable()) reaper_ = os::TryStartThread("compiler-pool", [this] { EndIdle(); });  // else next time
    }
  }
  place_free_.notify_all();  // it may be for one of them only
  idle_changed_.notify_one();
}

Result<CompilerProcess::Answer> CompilerPool::Compile(const compiler::CompileRequest& request,
                                                      std::span<const uint8_t> image, const CacheKey& image_key,
                                                      const Cancelled& cancelled, const CacheKey& key,
                                                      const KeepCode& keep) {
  return Compile(request, image, {.client = cancelled, .image = image_key}, key, keep);
}

Result<CompilerProcess::Answer> CompilerPool::CompileInBackground(const compiler::CompileRequest& request,
                                                                  std::span<const uint8_t> image,
                                                                  const CacheKey& image_key, const Cancelled& cancelled,
                                                                  bool in_addition) {
  const Urgency urgency = in_addition ? Urgency::kBackgroundInAddition : Urgency::kBackground;
  return Compile(request, image, {.client = cancelled, .image = image_key, .urgency = urgency}, {}, nullptr);
}

Result<CompilerProcess::Answer> CompilerPool::Compile(const compiler::CompileRequest& request,
                                                      std::span<const uint8_t> image, const Turn& turn,
                                                      const CacheKey& key, const KeepCode& keep) {
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-image", image));
  TUTTI_ASSIGN(std::unique_ptr<CompilerProcess> process, TakePlace(turn));
  for (bool retried = false;; retried = true) {
    const bool fresh = process == nullptr;
    if (fresh) {
      auto started = CompilerProcess::Start(host_);
      if (!started) {
        GiveBack(nullptr, turn);
        return std::unexpected(started.error());
      }
      process = std::move(*started);
    }
    bool was_gone = false;
    auto answer = process->Ask(request, file.get(), settings_.request_limit_ns, turn.client, &was_gone);
    if (answer) {
      GiveBack(std::move(process), turn);
      return answer;
    }
    if (answer.error().code == kCancelled && LeaveUnattended(process, turn, key, keep)) return answer;
    process.reset();
    if (was_gone && !fresh && !retried) continue;  // it died while idle, through no fault of this request
    if (answer.error().code != kCancelled) log_.Warning("compilations that fail", "compiler: {}", answer.error().text);
    GiveBack(nullptr, turn);
    return answer;
  }
}

void CompilerPool::TakeFrom(const Cancelled& client) {
  if (const auto of_client = busy_for_.find(&client); --of_client->second == 0) busy_for_.erase(of_client);
}

bool CompilerPool::LeaveUnattended(std::unique_ptr<CompilerProcess>& process, const Turn& turn, const CacheKey& key,
                                   const KeepCode& keep) {
  const std::lock_guard lock(mutex_);
  if (!keep || stopping_ || unattended_ || waiting_ != 0) return false;
  if (NowNs() - process->asked_ns() < settings_.finish_after_ns) return false;
  if (finisher_.joinable()) finisher_.join();  // of an earlier one: it takes no lock any more
  end_unattended_ = false;
  unattended_process_ = std::move(process);
  finisher_ =
      os::TryStartThread("compiler-finish", [this, image = turn.image, keep] { FinishUnattended(image, keep); });
  if (!finisher_.joinable()) {
    process = std::move(unattended_process_);
    return false;
  }
  unattended_ = Unattended{.key = key, .number = next_unattended_++};
  ++busy_for_[&end_unattended_];  // the client's memory may be gone soon
  TakeFrom(turn.client);
  return true;
}

void CompilerPool::FinishUnattended(const CacheKey& image_key, const KeepCode& keep) {
  {
    const std::lock_guard lock(mutex_);  // until LeaveUnattended has returned
  }
  const auto answer = unattended_process_->Finish(end_unattended_);
  if (!answer) unattended_process_.reset();
  if (answer && answer->status == 0 && !answer->is_quick) keep(answer->bytes);
  GiveBack(std::move(unattended_process_), {.client = end_unattended_, .image = image_key});
  {
    const std::lock_guard lock(mutex_);
    unattended_.reset();
  }
  place_free_.notify_all();
}

void CompilerPool::EndUnattended() {
  if (unattended_ && unattended_->awaited == 0) end_unattended_ = true;
}

void CompilerPool::AwaitUnattended(const CacheKey& key, const Cancelled& cancelled) {
  std::unique_lock lock(mutex_);
  if (!unattended_ || unattended_->key != key) return;
  const auto goes_on = [&, number = unattended_->number] { return unattended_ && unattended_->number == number; };
  ++unattended_->awaited;
  while (goes_on() && !cancelled.load(std::memory_order_relaxed)) place_free_.wait_for(lock, kLook);
  if (goes_on()) --unattended_->awaited;
}

void CompilerPool::EndIdle() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (idle_.empty()) {
      idle_changed_.wait(lock);
      continue;
    }
    const uint64_t now = NowNs();
    const uint64_t end = idle_.front().since_ns + settings_.idle_limit_ns;
    if (now < end) {
      idle_changed_.wait_for(lock, std::chrono::nanoseconds(end - now));
      continue;
    }
    std::unique_ptr<CompilerProcess> ended = std::move(idle_.front().process);
    idle_.erase(idle_.begin());
    lock.unlock();
    ended.reset();
    lock.lock();
  }
}

}  // namespace tutti::device
