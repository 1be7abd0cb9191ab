#include "server/ring_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/clock.h"
#include "os/futex.h"
#include "os/thread.h"
#include "os/time_slice.h"

namespace tutti::server {
namespace {

using wire::Doorbell;

constexpr uint64_t kKickKey = ~0ull;
constexpr uint64_t kColdAfterNs = 8'000'000;  // a ring without records for so long is armed though others are not
constexpr uint32_t kPollsPerHarvest = 256;    // a harvest is a system call
constexpr uint64_t kLeastLingerNs = 200'000;  // between two looks of the lookout
constexpr uint64_t kMostLingerNs = 4'000'000;
constexpr uint64_t kDozeNs = 1'000'000;
constexpr uint64_t kSliceNs = 100'000;  // clients wait for it
constexpr uint32_t kDozesBeforeDeep = 10;
constexpr uint64_t kLongSleepNs = 1'000'000'000;
constexpr int kMaxClientsReached = 808;  // CUDA_ERROR_MPS_MAX_CLIENTS_REACHED

// The watch that the calling thread is a looker of.
thread_local const RingWatch* looking_at = nullptr;

}  // namespace

Result<std::unique_ptr<RingWatch>> RingWatch::Create() {
  TUTTI_ASSIGN(os::Epoll bells, os::Epoll::Create());
  os::Fd kick(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!kick) return FailErrno("eventfd");
  TUTTI_TRY(bells.Add(kick.get(), EPOLLIN | EPOLLET, kKickKey));
  return std::unique_ptr<RingWatch>(new RingWatch(std::move(bells), std::move(kick)));
}

RingWatch::RingWatch(os::Epoll bells, os::Fd kick)
    : bells_(std::move(bells)), kick_(std::move(kick)), slots_(new Slot[kCapacity]) {
  for (uint32_t number = kCapacity; number > 0; --number) free_.push_back(number - 1);
  lookout_ = os::StartThread("lookout", [this] { Lookout(); });
}

RingWatch::~RingWatch() {
  stop_.store(true, std::memory_order_seq_cst);
  lookout_wake_.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&lookout_wake_);
  eventfd_write(kick_.get(), 1);
  lookout_.join();
}

Result<uint32_t> RingWatch::Add(WatchedRing* ring) {
  uint32_t number;
  {
    std::lock_guard lock(free_mutex_);
    if (free_.empty()) return Fail(kMaxClientsReached, fmt::format("all {} places for clients are taken", kCapacity));
    number = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[number];
  Lock(slot);
  ring->Added(number);
  slot.ring = ring;
  slot.bell = Doorbell::kArmed;
  slot.found_ns = NowNs();
  ring->SetBell(Doorbell::kArmed);
  Unlock(slot);
  // Edge-triggered: nobody has to read the eventfd, and a client that fills its counter has rung often enough.
  if (auto added = bells_.Add(ring->doorbell_fd(), EPOLLIN | EPOLLET, number); !added) {
    Remove(number);
    return std::unexpected(added.error());
  }
  Wake(number);
  return number;
}

void RingWatch::Remove(uint32_t number) {
  Slot& slot = slots_[number];
  Lock(slot);
  bells_.Remove(slot.ring->doorbell_fd());
  slot.ring = nullptr;
  Unlock(slot);
  hot_.Erase(number);
  std::lock_guard lock(free_mutex_);
  free_.push_back(number);
}

void RingWatch::Wake(uint32_t number) {
  hot_.Insert(number);
  eventfd_write(kick_.get(), 1);
}

void RingWatch::WithLock(uint32_t number, const std::function<void()>& work) {
  Slot& slot = slots_[number];
  Lock(slot);
  work();
  Unlock(slot);
}

void RingWatch::Lock(Slot& slot) {
  while (!TryLock(slot)) sched_yield();
}

// --- looking

bool RingWatch::Look(Doorbell state) {
  if (hot_.empty()) return false;
  const uint64_t now_ns = NowNs();
  bool found = false;
  hot_.ForEach([&](uint32_t number) {
    Slot& slot = slots_[number];
    if (!TryLock(slot)) return;
    if (slot.ring == nullptr) {
      hot_.Erase(number);
    } else {
      if (slot.bell != state) {
        // Hot first: whoever arms all rings must find this one. Another thread may have cooled it since we saw it hot.
        hot_.Insert(number);
        slot.bell = state;
        slot.ring->SetBell(state);
      }
      if (slot.ring->Consume()) {
        slot.found_ns = now_ns;
        found = true;
      } else if (now_ns - slot.found_ns > kColdAfterNs) {
        found |= Arm(number, slot);
      }
    }
    Unlock(slot);
  });
  return found;
}

// Cold first, then the bell, then the second look. A bell that rings meanwhile makes it hot again, after our Erase.
bool RingWatch::Arm(uint32_t number, Slot& slot) {
  hot_.Erase(number);
  slot.bell = Doorbell::kArmed;
  slot.ring->SetBell(Doorbell::kArmed);
  if (!slot.ring->Peek()) return false;
  hot_.Insert(number);
  slot.found_ns = NowNs();
  return true;
}

bool RingWatch::ArmAll() {
  bool found = false;
  hot_.ForEach([&](uint32_t number) {
    Slot& slot = slots_[number];
    // Somebody is in it, and may have looked before the last record came: it stays hot, the caller goes on looking.
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

void RingWatch::HarvestBells() {
  std::array<os::Epoll::Event, 64> room;
  for (;;) {
    const auto events = bells_.Wait(room, 0);
    for (const auto& event : events) {
      if (event.key != kKickKey) hot_.Insert(static_cast<uint32_t>(event.key));
    }
    if (events.size() < room.size()) return;
  }
}

// --- the backend's threads

device::Backend::IdleWork RingWatch::idle_work() {
  return {
      .poll = [this] { return Poll(); },
      .leave = [this] { Leave(); },
      .arm = [this] { return ArmToSleep(); },
      .doorbell_epoll_fd = bells_.fd(),
      .woke = [this] { Woke(); },
      .rang = [this] { HarvestBells(); },
  };
}

void RingWatch::BeginLooking() {
  looking_at = this;
  // Counted before it says kWatched anywhere: the last one counted arms.
  lookers_.fetch_add(1, std::memory_order_seq_cst);
}

bool RingWatch::Poll() {
  if (looking_at != this) BeginLooking();
  // Rings that have gone cold while others were busy are armed: nobody may be asleep on their bells.
  thread_local uint32_t polls = 0;
  if (++polls % kPollsPerHarvest == 0) HarvestBells();
  return Look(Doorbell::kWatched);
}

void RingWatch::Leave() {
  if (looking_at == this) {
    looking_at = nullptr;
    const bool last = lookers_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    // The lookout will look again in a moment: no bell need ring for it. Pairs with Lookout, which first says that it does
    // not linger any more, then arms.
    if (last && lookout_lingers_.load(std::memory_order_seq_cst)) {
      Look(Doorbell::kLingering);
      if (lookout_lingers_.load(std::memory_order_seq_cst)) return;
    }
    if (last && ArmAll()) {
      // Records came while we turned away. Take them; if yet more come, somebody else has to.
      Look(Doorbell::kArmed);
      if (ArmAll()) eventfd_write(kick_.get(), 1);
    }
  }
  // Pairs with Doze: it says that it dozes, then counts the others once more.
  if (!OthersLook() && lookout_dozes_.load(std::memory_order_seq_cst)) CallLookout();
}

void RingWatch::CallLookout() {
  lookout_wake_.fetch_add(1, std::memory_order_seq_cst);
  os::FutexWake(&lookout_wake_);
}

bool RingWatch::ArmToSleep() {
  if (looking_at != this) BeginLooking();
  // Counted as a sleeper before the bells are armed: from then on they wake it.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  looking_at = nullptr;
  if (lookers_.fetch_sub(1, std::memory_order_seq_cst) != 1) return false;
  if (!ArmAll()) return false;
  BeginLooking();
  Woke();
  return true;
}

void RingWatch::Woke() {
  if (sleepers_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  // The last sleeper: should it run blocks now, the lookout must be there.
  if (lookout_deep_.load(std::memory_order_seq_cst)) CallLookout();
}

// --- the lookout

bool RingWatch::OthersLook() const {
  return lookers_.load(std::memory_order_seq_cst) > 0 || sleepers_.load(std::memory_order_seq_cst) > 0;
}

void RingWatch::Lookout() {
  os::RequestTimeSlice(kSliceNs);
  // Until the next look, should no bell ring before: it takes longer after each that was in vain, and less after each that
  // was not.
  uint64_t linger_ns = kLeastLingerNs;
  bool by_itself = false;  // this look, and not because of a bell
  while (!stop_.load(std::memory_order_seq_cst)) {
    if (OthersLook()) {
      // No ring may be left lingering. Lookers will arm those that are hot when they look away; one that came and went
      // since has armed before our last look.
      if (lookout_lingers_.exchange(false, std::memory_order_seq_cst) &&
          lookers_.load(std::memory_order_seq_cst) == 0 && ArmAll()) {
        eventfd_write(kick_.get(), 1);
      }
      Doze();
      if (lookers_.load(std::memory_order_seq_cst) > 0) Look(Doorbell::kWatched);
      continue;
    }
    dozes_ = 0;
    lookout_lingers_.store(true, std::memory_order_seq_cst);
    HarvestBells();
    if (Look(Doorbell::kLingering)) {
      if (by_itself) linger_ns = std::max(linger_ns / 2, kLeastLingerNs);
      by_itself = false;
      continue;  // there may be more: a batch is bounded
    }
    if (!by_itself || linger_ns < kMostLingerNs) {
      if (by_itself) linger_ns = std::min(2 * linger_ns, kMostLingerNs);
      by_itself = !SleepOnBells(linger_ns);
      continue;
    }
    // Nothing for long. Whoever comes next rings, and is looked after as closely as at first.
    linger_ns = kLeastLingerNs;
    by_itself = false;
    lookout_lingers_.store(false, std::memory_order_seq_cst);
    if (!ArmAll()) SleepOnBells(kLongSleepNs);
  }
}

// Somebody else looks or sleeps on the bells. After some quiet dozes it sleeps until the last sleeper wakes.
void RingWatch::Doze() {
  const uint32_t wake = lookout_wake_.load(std::memory_order_seq_cst);
  lookout_dozes_.store(true, std::memory_order_seq_cst);
  lookout_deep_.store(dozes_ >= kDozesBeforeDeep, std::memory_order_seq_cst);
  const bool deep = dozes_ >= kDozesBeforeDeep && sleepers_.load(std::memory_order_seq_cst) > 0 &&
                    lookers_.load(std::memory_order_seq_cst) == 0;
  if (OthersLook() && !stop_.load(std::memory_order_seq_cst)) {
    os::FutexWait(&lookout_wake_, wake, deep ? kLongSleepNs : kDozeNs);
  }
  lookout_deep_.store(false, std::memory_order_seq_cst);
  lookout_dozes_.store(false, std::memory_order_seq_cst);
  if (dozes_ < kDozesBeforeDeep) {
    ++dozes_;
  } else if (deep && lookout_wake_.load(std::memory_order_seq_cst) != wake) {
    dozes_ = 0;
  }
}

bool RingWatch::SleepOnBells(uint64_t timeout_ns) {
  pollfd bells{bells_.fd(), POLLIN, 0};
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000u),
                         static_cast<long>(timeout_ns % 1'000'000'000u)};
  return ppoll(&bells, 1, &timeout, nullptr) > 0;
}

}  // namespace tutti::server
