// Makes each thing once, however many threads ask for it at the same time ("single flight"), and returns the same
// object as long as somebody holds it.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "cuda/result.h"
#include "device/compile/cache_key.h"
#include "device/compile/code_source.h"

namespace tutti::device {

// Thread-safe.
template <typename T>
class SharedWork {
 public:
  using Outcome = Result<std::shared_ptr<const T>>;

  // `make()` -> Outcome, called by one of the threads that ask at the same time; all get its result. A failure is
  // forgotten once they have it. A cancelled thread leaves; if it was the one in make(), another one calls it.
  template <typename F>
  Outcome Get(const CacheKey& key, const Cancelled& cancelled, F make) {
    for (;;) {
      std::promise<Outcome> promise;
      std::shared_future<Outcome> others;
      {
        const std::lock_guard lock(mutex_);
        Slot& slot = slots_[key];
        if (auto held = slot.held.lock()) return held;
        if (slot.pending.valid()) {
          others = slot.pending;
        } else {
          slot.pending = promise.get_future().share();
        }
      }
      if (!others.valid()) return Make(key, promise, make);
      while (others.wait_for(kLook) != std::future_status::ready) {
        if (cancelled.load(std::memory_order_relaxed)) return Fail(kCancelled, "nobody waits for it");
      }
      const Outcome& outcome = others.get();
      if (outcome || outcome.error().code != kCancelled) return outcome;
    }
  }

  // From now on those who ask get this, for as long as somebody holds it; unless somebody is making it now.
  void Put(const CacheKey& key, const std::shared_ptr<const T>& thing) {
    const std::lock_guard lock(mutex_);
    slots_[key].held = thing;
  }

  static constexpr int kCancelled = cuda::CUDA_ERROR_MPS_CLIENT_TERMINATED;

 private:
  static constexpr std::chrono::milliseconds kLook{10};  // how often a thread checks for cancellation

  template <typename F>
  Outcome Make(const CacheKey& key, std::promise<Outcome>& promise, F make) {
    const Outcome outcome = make();
    {
      const std::lock_guard lock(mutex_);
      ForgetUnheld();
      Slot& slot = slots_[key];
      slot.pending = {};
      if (outcome) {
        slot.held = *outcome;
      } else {
        slots_.erase(key);
      }
    }
    promise.set_value(outcome);
    return outcome;
  }

  struct Slot {
    std::weak_ptr<const T> held;
    std::shared_future<Outcome> pending;
  };

  // Only now and then, so that the amortised cost per call is constant.
  void ForgetUnheld() {
    if (slots_.size() < forget_at_) return;
    std::erase_if(slots_,
                  [](const auto& entry) { return entry.second.held.expired() && !entry.second.pending.valid(); });
    forget_at_ = 2 * slots_.size() + 64;
  }

  std::mutex mutex_;
  std::map<CacheKey, Slot> slots_;
  size_t forget_at_ = 64;
};

}  // namespace tutti::device
