// Which core each SM's thread is on, so that no two stay on one while another core is idle.
//
// The system puts a thread that wakes up where it thinks best: in a virtual machine, where it takes a core that sleeps
// for one that the host has taken away, that is behind the SM that woke it. Until it next balances its cores, some
// milliseconds later, half of the device would be idle, and a short kernel would be done by one SM. So
// * an SM that has woken another one moves it to a core that no SM has, before it can begin to wait;
// * an SM that finds itself where another one was last, which has not gone to sleep since, moves to such a core.
//
// What is known of others may be old: then an SM moves in vain, or later.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "os/cores.h"

namespace tutti::device::cpu {

// The operating system under SmCores; simulated in tests.
struct CoreSystem {
  static int Core() { return os::CoreOfThisThread(); }
  // Thread 0 is the calling one.
  static bool Move(pid_t thread, const std::vector<int>& taken) { return os::MoveThread(thread, taken); }
  static uint64_t NowNs() { return tutti::NowNs(); }
};

// Thread-safe. SMs are counted through all devices of this process; `sm` is the calling thread.
template <typename System>
class BasicSmCores {
 public:
  // Between two moves of an SM that has not slept in between. If it is back soon, the system has reasons that are not
  // known here, like others' threads on that core: then it takes twice as long until the next, up to the most.
  static constexpr uint64_t kLeastPauseNs = 200'000;
  static constexpr uint64_t kMostPauseNs = 50'000'000;

  // Without effect if there are not as many cores as SMs. `of_device`: SMs of each device, whose numbers follow each
  // other.
  BasicSmCores(uint32_t sms, uint32_t of_device, uint32_t cores)
      : spreads_(sms > 1 && sms <= cores), of_device_(of_device), places_(sms) {}

  void Begins(uint32_t sm, pid_t thread) { places_[sm].thread.store(thread, std::memory_order_relaxed); }
  // It begins work, or looks for some. Two loads if nothing has changed.
  void Runs(uint32_t sm) {
    if (!spreads_) return;
    const int core = System::Core();
    if (core < 0 || core >= kMostCores) return;
    if (places_[sm].core.load(std::memory_order_relaxed) == core &&
        newest_[core].load(std::memory_order_relaxed) == sm + 1)
      return;
    Comes(sm, core);
  }
  // It is about to leave its core, for how long nobody knows.
  void Sleeps(uint32_t sm) {
    if (!spreads_) return;
    places_[sm].slept.store(sleeps_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    places_[sm].core.store(kAsleep, std::memory_order_relaxed);
    places_[sm].moved_ns = 0;
  }
  // It has woken one of its device that slept. Which one is not known; the system wakes that which went to sleep last.
  void HasWoken(uint32_t sm) {
    if (!spreads_) return;
    Runs(sm);
    const Place* woken = nullptr;
    const uint32_t first = sm - sm % of_device_;
    for (const Place& place : std::span(places_).subspan(first, of_device_)) {
      if (place.core.load(std::memory_order_relaxed) != kAsleep) continue;
      if (woken == nullptr ||
          place.slept.load(std::memory_order_relaxed) > woken->slept.load(std::memory_order_relaxed))
        woken = &place;
    }
    if (woken != nullptr) Move(*woken, kAsleep, woken->thread.load(std::memory_order_relaxed));
  }

 private:
  static constexpr int kMostCores = 1024;
  static constexpr int kUnknown = -1;
  static constexpr int kAsleep = -2;

  struct alignas(64) Place {
    std::atomic<pid_t> thread{0};
    std::atomic<int> core{kUnknown};
    std::atomic<uint64_t> slept{0};  // when it last went to sleep, in order
    uint64_t moved_ns = 0;  // the SM's own; 0: not since it slept
    uint64_t pause_ns = kLeastPauseNs;
  };

  void Comes(uint32_t sm, int core) {
    if (SharesWithOther(sm, core) && MayMove(places_[sm])) {
      // Where it was last is free, and it is not where the other one is.
      places_[sm].core.store(kUnknown, std::memory_order_relaxed);
      if (Move(places_[sm], kUnknown, 0)) core = System::Core();
      if (core < 0 || core >= kMostCores) return;
    }
    places_[sm].core.store(core, std::memory_order_relaxed);
    newest_[core].store(sm + 1, std::memory_order_relaxed);
  }

  bool SharesWithOther(uint32_t sm, int core) const {
    const uint32_t other = newest_[core].load(std::memory_order_relaxed);
    return other != 0 && other != sm + 1 && places_[other - 1].core.load(std::memory_order_relaxed) == core;
  }

  static bool MayMove(Place& place) {
    const uint64_t now_ns = System::NowNs(), since_ns = now_ns - place.moved_ns;
    const bool is_back_soon = place.moved_ns != 0 && since_ns < 8 * place.pause_ns;
    if (is_back_soon && since_ns < place.pause_ns) return false;
    place.pause_ns = is_back_soon ? std::min(2 * place.pause_ns, kMostPauseNs) : kLeastPauseNs;
    place.moved_ns = now_ns;
    return true;
  }

  // To a core that no SM has that is awake. One at a time: another move of that thread would take what this one leaves
  // it for a moment for all the cores that it may use. Nobody waits for another's, who may have got a core of which
  // others make use. One that is not at `core` any more has come to one by itself, and keeps it, also if it comes as it
  // is moved: its own core is never one that is taken.
  bool Move(const Place& moved, int core, pid_t thread) {
    const std::unique_lock lock(moves_, std::try_to_lock);
    if (!lock || moved.core.load(std::memory_order_relaxed) != core) return false;
    std::vector<int> taken;
    for (const Place& place : places_) {
      if (&place != &moved) taken.push_back(place.core.load(std::memory_order_relaxed));
    }
    return System::Move(thread, taken);
  }

  const bool spreads_;
  const uint32_t of_device_;
  std::vector<Place> places_;
  std::atomic<uint32_t> newest_[kMostCores] = {};  // the SM that came to this core last, and 1
  std::atomic<uint64_t> sleeps_{1};
  std::mutex moves_;
};

using SmCores = BasicSmCores<CoreSystem>;

}  // namespace tutti::device::cpu
