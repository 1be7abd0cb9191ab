// The implementation of RingWatch, as a template: ring_watch.cc includes it for the server, and
// ring_watch_interleavings_test.cc for the model checker. ring_watch.cc explains the protocol.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/result.h"
#include "server/ring_watch.h"

namespace tutti::server {

namespace ring_watch {

// a ring without records for this long is armed even while others are hot
inline constexpr uint64_t kColdAfterNs = 8'000'000;
inline constexpr uint64_t kDozeNs = 1'000'000;
inline constexpr uint64_t kLongSleepNs = 1'000'000'000;

}  // namespace ring_watch

template <typename System>
Result<std::unique_ptr<BasicRingWatch<System>>> BasicRingWatch<System>::Create() {
  TUTTI_ASSIGN(Bells bells, Bells::Create());
  return std::make_unique<BasicRingWatch>(std::move(bells));
}

template <typename System>
BasicRingWatch<System>::BasicRingWatch(Bells bells) : bells_(std::move(bells)) {
  for (uint32_t number = kCapacity; number > 0; --number) free_.push_back(number - 1);
  lookout_ = System::StartLookout([this] { Lookout(); });
}

template <typename System>
BasicRingWatch<System>::~BasicRingWatch() {
  stop_.store(true, std::memory_order_seq_cst);
  CallLookout();
  bells_.Kick();
  lookout_.join();
}

template <typename System>
Result<uint32_t> BasicRingWatch<System>::Add(WatchedRing* ring) {
  uint32_t number;
  {
    std::lock_guard lock(free_mutex_);
    if (free_.empty())
      return Fail(cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
                  fmt::format("all {} places for clients are taken", kCapacity));
    number = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[number];
  Lock(slot);
  ring->Added(number);
  slot.ring = ring;
  slot.bell = wire::Doorbell::kArmed;
  slot.found_ns = System::NowNs();
  ring->SetBell(wire::Doorbell::kArmed);
  Unlock(slot);
  if (auto added = bells_.Add(ring->doorbell_fd(), number); !added) {
    Remove(number);
    return std::unexpected(added.error());
  }
  Wake(number);
  return number;
}

template <typename System>
void BasicRingWatch<System>::Remove(uint32_t number) {
  Slot& slot = slots_[number];
  Lock(slot);
  bells_.Remove(slot.ring->doorbell_fd());
  slot.ring = nullptr;
  Unlock(slot);
  hot_.Erase(number);
  std::lock_guard lock(free_mutex_);
  free_.push_back(number);
}

template <typename System>
void BasicRingWatch<System>::Wake(uint32_t number) {
  hot_.Insert(number);
  bells_.Kick();
}

template <typename System>
void BasicRingWatch<System>::WithLock(uint32_t number, const std::function<void()>& work) {
  Slot& slot = slots_[number];
  Lock(slot);
  work();
  Unlock(slot);
}

template <typename System>
void BasicRingWatch<System>::Lock(Slot& slot) {
  while (!TryLock(slot)) System::Yield();
}

// --- looking

template <typename System>
bool BasicRingWatch<System>::Look(wire::Doorbell state) {
  if (hot_.empty()) return false;
  const uint64_t now_ns = System::NowNs();
  bool found = false;
  hot_.ForEach([&](uint32_t number) {
    Slot& slot = slots_[number];
    if (!TryLock(slot)) return;
    if (slot.ring == nullptr) {
      hot_.Erase(number);
    } else {
      if (slot.bell != state) {
        // Hot before the state changes: ArmAll must find this ring. Another thread may have armed it since we saw it
        // hot.
        hot_.Insert(number);
        slot.bell = state;
        slot.ring->SetBell(state);
      }
      if (slot.ring->Consume()) {
        slot.found_ns = now_ns;
        found = true;
      } else if (now_ns - slot.found_ns > ring_watch::kColdAfterNs) {
        found |= Arm(number, slot);
      }
    }
    Unlock(slot);
  });
  return found;
}

// In this order: cold, doorbell, second check. A ring of the doorbell in between makes it hot again, after our Erase.
template <typename System>
bool BasicRingWatch<System>::Arm(uint32_t number, Slot& slot) {
  hot_.Erase(number);
  slot.bell = wire::Doorbell::kArmed;
  slot.ring->SetBell(wire::Doorbell::kArmed);
  if (!slot.ring->Peek()) return false;
  hot_.Insert(number);
  slot.found_ns = System::NowNs();
  return true;
}

template <typename System>
bool BasicRingWatch<System>::ArmAll() {
  bool found = false;
  hot_.ForEachForCertain([&](uint32_t number) {
    Slot& slot = slots_[number];
    // Another thread holds it and may have checked before the last record came: it stays hot, the caller goes on
    // polling.
    if (!TryLock(slot)) {
      found = true;
      return;
    }
    if (slot.ring == nullptr) {
      hot_.Erase(number);
    } else {
      found |= Arm(number, slot);
    }
    Unlock(slot);
  });
  return found;
}

template <typename System>
void BasicRingWatch<System>::HarvestBells() {
  bells_.Harvest([this](uint32_t number) { hot_.Insert(number); });
}

// --- the backend's threads

template <typename System>
device::Backend::IdleWork BasicRingWatch<System>::idle_work() {
  return {
      .poll = [this] { return Poll(); },
      .leave = [this] { Leave(); },
      .arm = [this] { return ArmToSleep(); },
      .doorbell_epoll_fd = bells_.epoll_fd(),
      .woke = [this] { Woke(); },
      .rang = [this] { Rang(); },
  };
}

template <typename System>
void BasicRingWatch<System>::BeginLooking() {
  System::LookingAt() = this;
  // Counted before it sets kWatched anywhere: the last looker to leave arms.
  lookers_.fetch_add(1, std::memory_order_seq_cst);
}

template <typename System>
bool BasicRingWatch<System>::Poll() {
  if (System::LookingAt() != this) BeginLooking();
  // Rings that went cold while others were busy are armed, and no thread may be sleeping on their doorbells.
  if (System::HarvestIsDue()) HarvestBells();
  return Look(wire::Doorbell::kWatched);
}

template <typename System>
void BasicRingWatch<System>::Leave() {
  if (System::LookingAt() == this) {
    System::LookingAt() = nullptr;
    const bool last = lookers_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    // The lookout polls again in a moment, so clients need not ring. Pairs with Lookout, which first clears
    // `lookout_lingers_` and then arms.
    if (last && lookout_lingers_.load(std::memory_order_seq_cst)) {
      Look(wire::Doorbell::kLingering);
      if (lookout_lingers_.load(std::memory_order_seq_cst)) return;
    }
    if (last && ArmAll()) {
      // Records came while we were leaving. Take them; if more arrive, wake another thread.
      Look(wire::Doorbell::kArmed);
      if (ArmAll()) bells_.Kick();
    }
  }
  // Pairs with Doze, which sets `lookout_dozes_` and then checks for other pollers again.
  if (!OthersLook() && lookout_dozes_.load(std::memory_order_seq_cst)) CallLookout();
}

template <typename System>
void BasicRingWatch<System>::CallLookout() {
  lookout_called_.store(1, std::memory_order_seq_cst);
  System::FutexWake(&lookout_called_);
}

template <typename System>
bool BasicRingWatch<System>::ArmToSleep() {
  if (System::LookingAt() != this) BeginLooking();
  // Counted as a sleeper before the doorbells are armed, since they wake it from then on.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  System::LookingAt() = nullptr;
  if (lookers_.fetch_sub(1, std::memory_order_seq_cst) != 1) return false;
  if (!ArmAll()) return false;
  BeginLooking();
  Woke();
  return true;
}

template <typename System>
void BasicRingWatch<System>::Woke() {
  if (sleepers_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  // This was the last sleeper: if it runs blocks now, the lookout has to take over.
  if (lookout_deep_.load(std::memory_order_seq_cst)) CallLookout();
}

// Counted as a looker first: a thread that consumes doorbell events must not leave without polling the rings.
template <typename System>
void BasicRingWatch<System>::Rang() {
  if (System::LookingAt() != this) BeginLooking();
  HarvestBells();
}

// --- the lookout

template <typename System>
bool BasicRingWatch<System>::OthersLook() const {
  return lookers_.load(std::memory_order_seq_cst) > 0 || sleepers_.load(std::memory_order_seq_cst) > 0;
}

template <typename System>
void BasicRingWatch<System>::Lookout() {
  // The time to the next poll unless a doorbell rings before: doubled after a poll in vain, halved after one that found
  // records.
  uint64_t linger_ns = System::kLeastLingerNs;
  bool by_itself = false;  // this poll is due to the interval, not to a doorbell
  while (!stop_.load(std::memory_order_seq_cst)) {
    if (OthersLook()) {
      // Leave no ring in kLingering, nor with records that came while we armed it. Lookers arm hot rings when they
      // leave; one that came and went in between armed before our last check.
      lookout_lingers_.store(false, std::memory_order_seq_cst);
      if (lookers_.load(std::memory_order_seq_cst) == 0 && ArmAll()) bells_.Kick();
      Doze();
      // A looker may be running blocks that take longer than was thought. Then nobody hears the doorbells, either: of a
      // ring that went cold, and has rung since.
      if (lookers_.load(std::memory_order_seq_cst) > 0) {
        HarvestBells();
        Look(wire::Doorbell::kWatched);
      }
      continue;
    }
    dozes_ = 0;
    lookout_lingers_.store(true, std::memory_order_seq_cst);
    HarvestBells();
    if (Look(wire::Doorbell::kLingering)) {
      if (by_itself) linger_ns = std::max(linger_ns / 2, System::kLeastLingerNs);
      by_itself = false;
      continue;  // a batch is bounded, so there may be more
    }
    if (!by_itself || linger_ns < System::kMostLingerNs) {
      if (by_itself) linger_ns = std::min(2 * linger_ns, System::kMostLingerNs);
      by_itself = !bells_.Sleep(linger_ns);
      continue;
    }
    // Nothing for long: arm all. The next record rings, and the interval starts at its minimum again.
    linger_ns = System::kLeastLingerNs;
    by_itself = false;
    lookout_lingers_.store(false, std::memory_order_seq_cst);
    if (!ArmAll()) bells_.Sleep(ring_watch::kLongSleepNs);
  }
}

// Other threads poll or sleep on the doorbells. After kDozesBeforeDeep quiet dozes it sleeps until the last sleeper
// wakes.
template <typename System>
void BasicRingWatch<System>::Doze() {
  // A call from here on ends the wait; an earlier caller has already changed what is checked below.
  lookout_called_.store(0, std::memory_order_seq_cst);
  lookout_dozes_.store(true, std::memory_order_seq_cst);
  lookout_deep_.store(dozes_ >= System::kDozesBeforeDeep, std::memory_order_seq_cst);
  const bool deep = dozes_ >= System::kDozesBeforeDeep && sleepers_.load(std::memory_order_seq_cst) > 0 &&
                    lookers_.load(std::memory_order_seq_cst) == 0;
  if (OthersLook() && !stop_.load(std::memory_order_seq_cst)) {
    System::FutexWait(&lookout_called_, 0, deep ? ring_watch::kLongSleepNs : ring_watch::kDozeNs);
  }
  lookout_deep_.store(false, std::memory_order_seq_cst);
  lookout_dozes_.store(false, std::memory_order_seq_cst);
  if (dozes_ < System::kDozesBeforeDeep) {
    ++dozes_;
  } else if (deep && lookout_called_.load(std::memory_order_seq_cst) != 0) {
    dozes_ = 0;
  }
}

}  // namespace tutti::server
