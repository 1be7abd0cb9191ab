// Whether a client may have ended executors that it shared with others. A driver does not say whose request or record
// it was, so whoever had one under way is suspect, and goes on in an executor of its own: there what was under way is
// done again, at nobody else's cost. A reset lets it share again, unless it has been suspect too often.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::device::gpu {

// Note and BeginAnew with the Space's lock; is_alone is thread-safe.
class Suspicion {
 public:
  static constexpr uint32_t kMost = 3;  // ends of shared executors, for one client

  // It is to share an executor with nobody.
  bool is_alone() const { return alone_.load(std::memory_order_relaxed); }
  // An executor that it shared has ended, with something of it under way.
  void Note() {
    ++times_;
    StayAlone();
  }
  // It is to have something that those that it would share do not give it. Thread-safe.
  void StayAlone() { alone_.store(true, std::memory_order_relaxed); }
  // It has nothing any more that it had in executors.
  void BeginAnew() { alone_.store(times_ >= kMost, std::memory_order_relaxed); }

 private:
  uint32_t times_ = 0;
  std::atomic<bool> alone_{false};
};

}  // namespace tutti::device::gpu
