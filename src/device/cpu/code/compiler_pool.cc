#include "device/cpu/code/compiler_pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "cuda/result.h"
#include "os/memory.h"
#include "os/thread.h"

namespace tutti::device::cpu {
namespace {

constexpr std::chrono::milliseconds kLook{10};  // how soon a cancelled request goes
constexpr int kCancelled = cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED;

Result<os::Fd> InMemory(std::span<const uint8_t> bytes) {
  TUTTI_ASSIGN(os::Fd file, os::CreateMemory("tutti-image", bytes.size()));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = pwrite(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return FailErrno("copying an image for the compiler");
    done += static_cast<size_t>(count);
  }
  return file;
}

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

Result<std::unique_ptr<CompilerProcess>> CompilerPool::TakePlace(const CacheKey& image_key,
                                                                 const Cancelled& cancelled) {
  std::unique_lock lock(mutex_);
  while (!place_free_.wait_for(lock, kLook, [this] { return busy_ < settings_.max_compilers; })) {
    if (cancelled.load(std::memory_order_relaxed)) return Fail(kCancelled, "nobody waits for it");
  }
  ++busy_;
  if (idle_.empty()) return nullptr;
  auto chosen =
      std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.last_image == image_key; });
  if (chosen == idle_.end()) {
    // Rather a new worker than one that another client's next kernel will want, while there is room.
    if (idle_.size() + busy_ <= settings_.max_compilers) return nullptr;
    chosen = idle_.begin();
  }
  auto process = std::move(chosen->process);
  idle_.erase(chosen);
  return process;
}

void CompilerPool::GiveBack(std::unique_ptr<CompilerProcess> process, const CacheKey& image_key) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    if (process != nullptr) {
      idle_.push_back({std::move(process), image_key, NowNs()});
      if (!reaper_.joinable()) reaper_ = os::TryStartThread("compiler-pool", [this] { EndIdle(); });  // else next time
    }
  }
  place_free_.notify_one();
  idle_changed_.notify_one();
}

Result<CompilerProcess::Answer> CompilerPool::Compile(const guest::CompileRequest& request,
                                                      std::span<const uint8_t> image, const CacheKey& image_key,
                                                      const Cancelled& cancelled) {
  TUTTI_ASSIGN(const os::Fd file, InMemory(image));
  TUTTI_ASSIGN(std::unique_ptr<CompilerProcess> process, TakePlace(image_key, cancelled));
  for (bool retried = false;; retried = true) {
    const bool fresh = process == nullptr;
    if (fresh) {
      auto started = CompilerProcess::Start(settings_.compiler);
      if (!started) {
        GiveBack(nullptr, image_key);
        return std::unexpected(started.error());
      }
      process = std::move(*started);
    }
    bool was_gone = false;
    auto answer = process->Ask(request, file.get(), settings_.request_limit_ns, cancelled, &was_gone);
    if (answer) {
      GiveBack(std::move(process), image_key);
      return answer;
    }
    process.reset();
    if (was_gone && !fresh && !retried) continue;  // it died while idle: not this request's fault
    if (answer.error().code != kCancelled) log::Warning("compiler: {}", answer.error().text);
    GiveBack(nullptr, image_key);
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

}  // namespace tutti::device::cpu
