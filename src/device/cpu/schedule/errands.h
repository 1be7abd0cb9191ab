// What is left to do when a record has been submitted or completed and no lock is held any more: SMs to interrupt and
// to wake, a look to ask for, clients to wake.
//
// None of it may be done under a lock. Whoever is woken may be given the core of the waker at once; were that one to
// hold the Space's lock, everybody who needs it would wait for the kernel's scheduler, an urgent kernel included.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace tutti::device {
class Sink;
}

namespace tutti::device::cpu {

class Scheduler;
struct GuestThread;

// What a submitted task asks of its scheduler's SMs.
struct Nudge {
  Scheduler* scheduler = nullptr;
  const GuestThread* interrupt = nullptr;  // it must give way
  uint64_t look_at_ns = kNever;
  bool wake = false;  // an SM that sleeps
};

// Collected under the Space's lock, run by whoever has collected them. A record sets few others free: what is beyond
// the room is done at once, which is right and merely slower.
class Errands {
 public:
  Errands() = default;
  // What `other` has collected; it has nothing any more.
  Errands(Errands&& other) noexcept;

  void Add(const Nudge& nudge);
  void AddWake(uint32_t stream, Sink* sink);
  bool empty() const { return nudge_count_ == 0 && wake_count_ == 0; }
  // With no lock held.
  void Run(Sink* sink) const;

 private:
  std::array<Nudge, 4> nudges_;
  std::array<uint32_t, 8> wakes_;  // streams
  uint32_t nudge_count_ = 0;
  uint32_t wake_count_ = 0;
};

}  // namespace tutti::device::cpu
