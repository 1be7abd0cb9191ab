// Deferred callbacks: what remains to be done when a record has been submitted or completed, once no lock is held. SMs
// to interrupt and to wake, a look to ask for, clients to wake.
//
// None of it may be done under a lock. A woken thread may get the core of the waker at once; if that held the Space's
// lock, all who need it, an urgent kernel included, would wait for the kernel's scheduler (a lock convoy).
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace tutti::device {
class Sink;
}

namespace tutti::guest {
struct GuestThread;
}

namespace tutti::device::cpu {

class Scheduler;

// What a submitted task needs of its scheduler's SMs.
struct RescheduleRequest {
  Scheduler* scheduler = nullptr;
  const guest::GuestThread* interrupt = nullptr;  // to be preempted
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
  void AddWake(uint32_t stream, Sink* sink);
  bool empty() const { return request_count_ == 0 && wake_count_ == 0; }
  // Call with no lock held.
  void Run(Sink* sink) const;

 private:
  std::array<RescheduleRequest, 4> requests_;
  std::array<uint32_t, 8> wakes_;  // streams
  uint32_t request_count_ = 0;
  uint32_t wake_count_ = 0;
};

}  // namespace tutti::device::cpu
