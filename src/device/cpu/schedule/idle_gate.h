// Where the workers of one device sleep, and how they are woken. Thread-safe.
//
// All sleepers wait in one epoll set that holds an eventfd ("there is work") and, if the server gave one, its
// doorbells. The kernel hands an edge to one waiter, so a wake costs one wake however many sleep.
//
// A wake is meant for whoever sleeps, not for a certain worker: one that is about to sleep may take it, and looks for
// work again. Where not every worker may take every work that would lose it: there, nobody goes to sleep while a wake
// of others is on its way, so that WakeAll reaches each who slept.
//
// Of every sleeper there is one token: in `sleepers` while nobody wakes it, in `owed` while a wake is on its way.
// Whoever gets up takes one along, whichever; so there is never a wake that nobody takes.
//
// No wake is lost between a worker that finds nothing and a submitter that finds no sleeper: the worker counts itself
// as a sleeper, then compares the epoch; the submitter moves the epoch, then looks for sleepers (both seq_cst). This is
// tried in every order of steps, with this very code on made-up files: idle_gate_interleavings_test.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "os/fd.h"

namespace tutti::device::cpu {

// What an IdleGate stands on.
class GateFiles {
 public:
  template <typename T>
  using Atomic = std::atomic<T>;
  struct Edges {
    bool post = false;
    bool doorbell = false;
  };
  // Until others have got as far as one waits for, which they do at once if they have a processor.
  class Patience {
   public:
    void Wait();

   private:
    int rounds_ = 0;
  };

  GateFiles();
  void WatchDoorbells(int epoll_fd);
  // Each edge is told to one who waits.
  void Post(uint64_t count);
  Edges Wait(uint64_t until_ns);
  uint64_t TakePosts();  // all there are

 private:
  os::Fd epoll_;
  os::Fd work_;
};

template <typename Files>
class BasicIdleGate {
 public:
  template <typename T>
  using Atomic = typename Files::template Atomic<T>;

  // Sleepers also wake when `epoll_fd` becomes readable. Before the first sleeper.
  void WatchDoorbells(int epoll_fd) { files_.WatchDoorbells(epoll_fd); }

  // Moves with every change that may give an idle worker something to do.
  uint32_t epoch() const { return epoch_.load(std::memory_order_seq_cst); }
  void Advance() { epoch_.fetch_add(1, std::memory_order_seq_cst); }
  // Who sleeps and is not being woken. To be asked after Advance: whoever is not counted then looks once more.
  uint32_t sleepers() const { return static_cast<uint32_t>(tokens_.load(std::memory_order_seq_cst)); }
  // Wakes one sleeper, if there is one that is not being woken already.
  void WakeOne();
  void WakeAll();

  struct Woken {
    bool by_doorbell = false;
  };
  // Returns when woken, at `until_ns` (kNever: no limit), or at once if the epoch is not `seen` any more. `takes_all`:
  // the caller may take whatever work there is.
  Woken Sleep(uint32_t seen, uint64_t until_ns, bool takes_all);

  // Spinning workers look at the epoch by themselves and need no wake.
  Atomic<uint32_t> spinners{0};

 private:
  static constexpr uint64_t kSleeper = 1;
  static constexpr uint64_t kOwed = uint64_t{1} << 32;

  bool BecomeSleeper(uint32_t seen, bool takes_all);
  bool ClaimSleeper(uint64_t turn_into);
  bool TakePost();
  void GetUp(bool by_post);

  Files files_;
  Atomic<uint32_t> epoch_{0};
  Atomic<uint64_t> tokens_{0};  // sleepers, and above them what is owed
};

// Those who get up claim a token for nobody, those who wake for somebody.
template <typename Files>
bool BasicIdleGate<Files>::ClaimSleeper(uint64_t turn_into) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  while (static_cast<uint32_t>(tokens) != 0) {
    if (tokens_.compare_exchange_weak(tokens, tokens - kSleeper + turn_into, std::memory_order_seq_cst)) return true;
  }
  return false;
}

template <typename Files>
void BasicIdleGate<Files>::WakeOne() {
  if (ClaimSleeper(kOwed)) files_.Post(1);
}

template <typename Files>
void BasicIdleGate<Files>::WakeAll() {
  while (ClaimSleeper(kOwed)) files_.Post(1);
}

template <typename Files>
bool BasicIdleGate<Files>::BecomeSleeper(uint32_t seen, bool takes_all) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  for (typename Files::Patience patience;;) {
    if (!takes_all && tokens >= kOwed) {  // those who are owed a wake are on their way up
      if (epoch() != seen) return false;
      patience.Wait();
      tokens = tokens_.load(std::memory_order_seq_cst);
    } else if (tokens_.compare_exchange_weak(tokens, tokens + kSleeper, std::memory_order_seq_cst)) {
      return true;
    }
  }
}

template <typename Files>
bool BasicIdleGate<Files>::TakePost() {
  const uint64_t posts = files_.TakePosts();
  if (posts == 0) return false;
  if (posts > 1) files_.Post(posts - 1);  // edges that arrive together wake one waiter: pass the rest on
  tokens_.fetch_sub(kOwed, std::memory_order_seq_cst);
  return true;
}

// Whoever was woken by a post takes one: the edge was its own, and nobody else will hear of that post. Whoever gets up
// by itself gives its token back, if a waker has not claimed it: it must not take a post that somebody who sleeps has
// been promised. If there is neither, a waker is between its claim and its post.
template <typename Files>
void BasicIdleGate<Files>::GetUp(bool by_post) {
  for (typename Files::Patience patience;; patience.Wait()) {
    if (by_post && TakePost()) return;
    if (ClaimSleeper(0)) return;
    if (!by_post && TakePost()) return;
  }
}

template <typename Files>
typename BasicIdleGate<Files>::Woken BasicIdleGate<Files>::Sleep(uint32_t seen, uint64_t until_ns, bool takes_all) {
  Woken woken;
  bool by_post = false;
  if (!BecomeSleeper(seen, takes_all)) return woken;
  if (epoch() == seen) {
    const auto edges = files_.Wait(until_ns);
    woken.by_doorbell = edges.doorbell;
    by_post = edges.post;
  }
  GetUp(by_post);
  return woken;
}

extern template class BasicIdleGate<GateFiles>;
using IdleGate = BasicIdleGate<GateFiles>;

}  // namespace tutti::device::cpu
