// Where the workers of one device sleep, and how they are woken. Thread-safe.
//
// All sleepers wait in one epoll set that holds an eventfd ("there is work") and, if the server gave one, its
// doorbells. The kernel hands an edge to one waiter, so a wake costs one wake however many sleep.
//
// A wake is meant for whoever sleeps, not for a certain worker: one that is about to sleep may take it, and looks for
// work again. Where not every worker may take every work that would lose it: there, nobody goes to sleep while a wake of
// others is on its way, so that WakeAll reaches each who slept.
//
// Of every sleeper there is one token: in `sleepers` while nobody wakes it, in `owed` while a wake is on its way. Whoever
// gets up takes one along, whichever; so there is never a wake that nobody takes.
//
// No wake is lost between a worker that finds nothing and a submitter that finds no sleeper: the worker counts itself
// as a sleeper, then compares the epoch; the submitter moves the epoch, then looks for sleepers (both seq_cst).
#pragma once

#include <atomic>
#include <cstdint>

#include "os/fd.h"

namespace tutti::device::cpu {

class IdleGate {
 public:
  IdleGate();

  // Sleepers also wake when `epoll_fd` becomes readable. Before the first sleeper.
  void WatchDoorbells(int epoll_fd);

  // Moves with every change that may give an idle worker something to do.
  uint32_t epoch() const { return epoch_.load(std::memory_order_seq_cst); }
  void Advance() { epoch_.fetch_add(1, std::memory_order_seq_cst); }
  // Wakes one sleeper, if there is one that is not being woken already.
  void WakeOne();
  void WakeAll();

  struct Woken {
    bool by_doorbell = false;
  };
  // Returns when woken, at `until_ns` (kNever: no limit), or at once if the epoch is not `seen` any more. `takes_all`: the
  // caller may take whatever work there is.
  Woken Sleep(uint32_t seen, uint64_t until_ns, bool takes_all);

  // Spinning workers look at the epoch by themselves and need no wake.
  std::atomic<uint32_t> spinners{0};

 private:
  static constexpr uint64_t kSleeper = 1;
  static constexpr uint64_t kOwed = uint64_t{1} << 32;

  bool BecomeSleeper(uint32_t seen, bool takes_all);
  bool ClaimSleeper(uint64_t turn_into);
  bool TakePost();
  void GetUp(bool by_post);

  os::Fd epoll_;
  os::Fd work_;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint64_t> tokens_{0};  // sleepers, and above them what is owed
};

}  // namespace tutti::device::cpu
