// Deferred callbacks: what remains to be done for SMs when a record has been submitted or completed, once no lock is
// held. SMs to interrupt and to wake, a look to ask for.
//
// None of it may be done under a lock. A woken thread may get the core of the waker at once; if that held the Space's
// lock, all who need it, an urgent kernel included, would wait for the kernel's scheduler (a lock convoy).
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace tutti::guest {
struct GuestThread;
}

namespace tutti::device::cpu {

class Scheduler;

// What a submitted task needs of its scheduler's SMs.
struct RescheduleRequest {
  Scheduler* scheduler = nullptr;
  std::array<const guest::GuestThread*, 2> interrupt = {};  // to be preempted
  uint64_t look_at_ns = kNever;
  bool wake = false;  // a sleeping SM
};

// Collected under the Space's lock, run by the thread that has collected them. A record seldom unblocks many others:
// what is beyond the capacity runs at once, which is correct and merely slower.
class Errands {
 public:
  Errands() = default;
  // Takes over what `other` has collected, and empties it.
  Errands(Errands&& other) noexcept;

  void Add(const RescheduleRequest& request);
  bool empty() const { return request_count_ == 0; }
  // Call with no lock held.
  void Run() const;

 private:
  std::array<RescheduleRequest, 4> requests_;
  uint32_t request_count_ = 0;
};

}  // namespace tutti::device::cpu
