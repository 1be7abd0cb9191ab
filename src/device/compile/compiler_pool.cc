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
  }
  idle_changed_.notify_all();
  if (reaper_.joinable()) reaper_.join();
}

size_t CompilerPool::workers() const {
  const std::lock_guard lock(mutex_);
  return idle_.size() + busy_;
}

bool CompilerPool::HasPlaceFor(const Cancelled& client, uint64_t waited_ns) const {
  if (busy_ < settings_.max_compilers) return true;
  return waited_ns > kPatienceNs && busy_ < settings_.max_compilers + kCompilersInAddition &&
         !busy_for_.contains(&client);
}

Result<std::unique_ptr<CompilerProcess>> CompilerPool::TakePlace(const CacheKey& image_key,
                                                                 const Cancelled& cancelled) {
  const uint64_t since_ns = NowNs();
  std::unique_lock lock(mutex_);
  while (!place_free_.wait_for(lock, kLook, [&] { return HasPlaceFor(cancelled, NowNs() - since_ns); })) {
    if (cancelled.load(std::memory_order_relaxed)) return Fail(kCancelled, "nobody waits for it");
  }
  ++busy_;
  ++busy_for_[&cancelled];
  auto chosen = std::ranges::find(idle_, image_key, &Idle::image);
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

void CompilerPool::GiveBack(std::unique_ptr<CompilerProcess> process, const CacheKey& image_key,
                            const Cancelled& client) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    if (const auto of_client = busy_for_.find(&client); --of_client->second == 0) busy_for_.erase(of_client);
    // An additional worker ends with its request.
    if (process != nullptr && idle_.size() + busy_ < settings_.max_compilers) {
      idle_.push_back({std::move(process), image_key, NowNs()});
      if (!reaper_.joinable()) reaper_ = os::TryStartThread("compiler-pool", [this] { EndIdle(); });  // else next time
    }
  }
  place_free_.notify_one();
  idle_changed_.notify_one();
}

Result<CompilerProcess::Answer> CompilerPool::Compile(const compiler::CompileRequest& request,
                                                      std::span<const uint8_t> image, const CacheKey& image_key,
                                                      const Cancelled& cancelled) {
  TUTTI_ASSIGN(const os::Fd file, os::CreateMemoryOf("tutti-image", image));
  TUTTI_ASSIGN(std::unique_ptr<CompilerProcess> process, TakePlace(image_key, cancelled));
  for (bool retried = false;; retried = true) {
    const bool fresh = process == nullptr;
    if (fresh) {
      auto started = CompilerProcess::Start(host_);
      if (!started) {
        GiveBack(nullptr, image_key, cancelled);
        return std::unexpected(started.error());
      }
      process = std::move(*started);
    }
    bool was_gone = false;
    auto answer = process->Ask(request, file.get(), settings_.request_limit_ns, cancelled, &was_gone);
    if (answer) {
      GiveBack(std::move(process), image_key, cancelled);
      return answer;
    }
    process.reset();
    if (was_gone && !fresh && !retried) continue;  // it died while idle, through no fault of this request
    if (answer.error().code != kCancelled) log_.Warning("compilations that fail", "compiler: {}", answer.error().text);
    GiveBack(nullptr, image_key, cancelled);
    return answer;
  }
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
