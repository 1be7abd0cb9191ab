// Decides which threads poll the clients' rings, and when none has to.
//
// Any thread may poll; the backend's idle threads do, since they will run what they find. Each ring has a try-lock, so
// one thread at a time consumes a ring and no poller blocks on it. A ring is *hot* while its doorbell may be in state
// kWatched or kLingering; it goes cold (armed) after a while without records, and when the last poller stops.
//
// Three kinds of thread:
//   lookers   spin and poll. While there is one, the doorbells of hot rings are in state kWatched.
//   sleepers  wait on the doorbells' epoll descriptor. All rings are armed.
//   lookout   one thread of this class's own. While there are neither lookers nor sleepers (all of the backend's
//             threads run blocks, or it has none) it polls the rings at an adaptive interval, sets kLingering, and
//             sleeps on the doorbells when nothing comes. Otherwise it dozes; while there are lookers it still polls
//             now and then, since a looker that expects to poll again soon may be delayed.
//
// ring_watch.cc explains the protocol. ring_watch_interleavings_test.cc runs this very code (ring_watch_steps.h) on
// simulated threads and doorbells through every interleaving, and checks that no record is left in a ring that nobody
// will poll and that no thread is in a removed ring. It has one ring; hot_set.h covers several.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "device/device.h"
#include "os/futex.h"
#include "server/bells.h"
#include "server/hot_set.h"
#include "wire/channel_layout.h"

namespace tutti::server {

// A ring to be watched. All methods are called with the ring's lock held.
class WatchedRing {
 public:
  virtual ~WatchedRing() = default;
  virtual void Added(uint32_t number) = 0;  // called first, with the number that RingWatch::Add will return
  virtual bool Consume() = 0;  // takes a bounded batch of records; true if there was one
  virtual bool Peek() = 0;  // whether Consume would find one
  virtual void SetBell(wire::Doorbell state) = 0;  // seq_cst
  virtual int doorbell_fd() const = 0;
};

// The system functions under a RingWatch; the interleavings test replaces them.
struct WatchSystem {
  template <typename T>
  using Atomic = std::atomic<T>;
  using Bells = server::Bells;

  static constexpr uint32_t kCapacity = HotSet::kCapacity;
  static constexpr uint64_t kLeastLingerNs = 200'000;  // between two looks of the lookout
  static constexpr uint64_t kMostLingerNs = 4'000'000;
  static constexpr uint32_t kDozesBeforeDeep = 10;

  // Thread-local: the watch that this thread is a looker of.
  static const void*& LookingAt() {
    constinit thread_local const void* looking_at = nullptr;
    return looking_at;
  }
  // True at every 256th poll of a thread, since harvesting is a system call.
  static bool HarvestIsDue() {
    constinit thread_local uint32_t polls = 0;
    return ++polls % 256 == 0;
  }
  static uint64_t NowNs() { return tutti::NowNs(); }
  static void Yield() { sched_yield(); }
  static void FutexWait(const Atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
    os::FutexWait(word, expected, timeout_ns);
  }
  static void FutexWake(const Atomic<uint32_t>* word) { os::FutexWake(word); }
  static std::thread StartLookout(std::function<void()> lookout);
};

// Thread-safe.
template <typename System>
class BasicRingWatch {
 public:
  using Bells = typename System::Bells;
  static constexpr uint32_t kCapacity = System::kCapacity;

  static Result<std::unique_ptr<BasicRingWatch>> Create();
  explicit BasicRingWatch(Bells bells);
  // By now all rings have been removed, and the backend's threads no longer call.
  ~BasicRingWatch();

  // Starts watching; `ring` lives until Remove. Returns the ring's number. Fails when kCapacity rings are watched.
  Result<uint32_t> Add(WatchedRing* ring);
  // Returns when no thread is in the ring or will enter it.
  void Remove(uint32_t number);
  // Makes sure that the ring is polled soon: for a ring that accepts records again after a pause. Never blocks.
  void Wake(uint32_t number);
  // Runs `work` with the ring's lock held. May have to wait for a batch to be consumed.
  void WithLock(uint32_t number, const std::function<void()>& work);

  // For device::Backend::SetIdleWork.
  device::Backend::IdleWork idle_work();

  // One poll of all hot rings by a thread that is no looker (tests, and the lookout). True if it found records.
  bool Look(wire::Doorbell state);
  // Arms all hot rings. True if one turned out to hold records: it is hot again, and the caller must go on polling.
  bool ArmAll();

 private:
  template <typename T>
  using Atomic = typename System::template Atomic<T>;

  struct alignas(64) Slot {
    Atomic<bool> busy{false};  // the lock; guards the rest
    WatchedRing* ring = nullptr;
    wire::Doorbell bell = wire::Doorbell::kArmed;  // the state last set
    uint64_t found_ns = 0;  // when it last held records
  };

  static bool TryLock(Slot& slot) {
    return !slot.busy.load(std::memory_order_relaxed) && !slot.busy.exchange(true, std::memory_order_acquire);
  }
  static void Lock(Slot& slot);
  static void Unlock(Slot& slot) { slot.busy.store(false, std::memory_order_release); }

  bool Arm(uint32_t number, Slot& slot);
  void BeginLooking();
  bool Poll();
  void Leave();
  bool ArmToSleep();
  void Woke();
  void Rang();
  void HarvestBells();

  void Lookout();
  bool OthersLook() const;
  void CallLookout();
  void Doze();

  Bells bells_;
  BasicHotSet<System::template Atomic> hot_;
  std::array<Slot, kCapacity> slots_;
  std::mutex free_mutex_;
  std::vector<uint32_t> free_;

  alignas(64) Atomic<int32_t> lookers_{0};
  alignas(64) Atomic<int32_t> sleepers_{0};
  Atomic<uint32_t> lookout_called_{0};  // futex
  Atomic<bool> lookout_lingers_{false};  // it looks again within kMostLingerNs
  Atomic<bool> lookout_dozes_{false};
  Atomic<bool> lookout_deep_{false};
  Atomic<bool> stop_{false};
  uint32_t dozes_ = 0;
  decltype(System::StartLookout({})) lookout_;
};

extern template class BasicRingWatch<WatchSystem>;
using RingWatch = BasicRingWatch<WatchSystem>;

}  // namespace tutti::server
