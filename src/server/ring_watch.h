// Who looks at the clients' rings, and when nobody has to.
//
// Any thread may look; the backend's idle threads do, since they are the ones that will run what is found. Each ring
// has a lock that is only ever tried, so a ring is consumed by one thread at a time and nobody waits for it. A ring is
// *hot* while its bell may say kWatched or kLingering; it goes cold (armed) when nothing came for a while, and when the
// last thread that looks looks away.
//
// Three kinds of thread:
//   lookers   spin and poll. While there is one, bells of hot rings say kWatched.
//   sleepers  wait for the bells' epoll descriptor. All rings are armed.
//   lookout   one thread of this class's own. Only while there are neither lookers nor sleepers (all of the backend's
//             threads run blocks, or it has none) it glances at the rings now and then, says kLingering, and sleeps on the
//             bells when nothing comes. How often it glances, it learns. Otherwise it dozes. While there are lookers it looks now and then, too: one
//             that thinks it will be back soon may be wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "os/epoll.h"
#include "os/fd.h"
#include "server/hot_set.h"
#include "wire/channel_layout.h"

namespace tutti::server {

// What is watched. All methods are called with the ring's lock held.
class WatchedRing {
 public:
  virtual ~WatchedRing() = default;
  virtual void Added(uint32_t number) = 0;         // the number RingWatch::Add will return; before any of the others
  virtual bool Consume() = 0;                      // takes a bounded batch of records; true if there was one
  virtual bool Peek() = 0;                         // whether Consume would find one
  virtual void SetBell(wire::Doorbell state) = 0;  // seq_cst
  virtual int doorbell_fd() const = 0;
};

// Thread-safe.
class RingWatch {
 public:
  static constexpr uint32_t kCapacity = HotSet::kCapacity;

  static Result<std::unique_ptr<RingWatch>> Create();
  // All rings have been removed, and no thread of the backend calls any more.
  ~RingWatch();

  // Starts watching; `ring` lives until Remove. Returns the ring's number. Fails when kCapacity rings are watched.
  Result<uint32_t> Add(WatchedRing* ring);
  // Returns when no thread is in the ring or will be.
  void Remove(uint32_t number);
  // Somebody will look at the ring soon: for a ring that has refused records and takes them again. Never blocks.
  void Wake(uint32_t number);
  // Runs `work` with the ring's lock held. May have to wait for a batch to be consumed.
  void WithLock(uint32_t number, const std::function<void()>& work);

  // For device::Backend::SetIdleWork.
  device::Backend::IdleWork idle_work();

  // One look by a thread that is neither (tests, and the lookout). True if it found records.
  bool Look(wire::Doorbell state);
  // Arms all hot rings; true if one turned out to hold records: it is hot again, and kWatched in all but name.
  bool ArmAll();

 private:
  struct alignas(64) Slot {
    std::atomic<bool> busy{false};  // the lock; guards the rest
    WatchedRing* ring = nullptr;
    wire::Doorbell bell = wire::Doorbell::kArmed;  // what we last said
    uint64_t found_ns = 0;                         // when it last held records
  };

  RingWatch(os::Epoll bells, os::Fd kick);

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
  void HarvestBells();

  void Lookout();
  bool OthersLook() const;
  void CallLookout();
  void Doze();
  bool SleepOnBells(uint64_t timeout_ns);  // true if one rang

  os::Epoll bells_;
  os::Fd kick_;  // rings all by itself: for Wake, and for the end
  HotSet hot_;
  std::unique_ptr<Slot[]> slots_;
  std::mutex free_mutex_;
  std::vector<uint32_t> free_;

  alignas(64) std::atomic<int32_t> lookers_{0};
  alignas(64) std::atomic<int32_t> sleepers_{0};
  std::atomic<uint32_t> lookout_wake_{0};  // futex
  std::atomic<bool> lookout_lingers_{false};  // it looks again within kMostLingerNs
  std::atomic<bool> lookout_dozes_{false};
  std::atomic<bool> lookout_deep_{false};
  std::atomic<bool> stop_{false};
  uint32_t dozes_ = 0;
  std::thread lookout_;
};

}  // namespace tutti::server
