// Where the workers of one device sleep, and how they are woken. Thread-safe.
//
// All sleepers wait in one epoll set that holds an eventfd ("there is work") and, if the server gave one, its
// doorbells. The kernel delivers an edge to one waiter, so there is no thundering herd: a wake-up costs the same
// however many sleep.
//
// A wake-up is for any sleeper, not for a certain worker: one that is about to sleep may consume it, and looks for work
// again. If not every worker may take all work, that would lose it: then nobody goes to sleep while wake-ups of others
// are under way, so that WakeAll reaches each worker that slept.
//
// Every sleeper has one token: in `sleepers` while nobody wakes it, in `owed` while a wake-up is under way. Whoever
// gets up consumes one, no matter which; so no wake-up is left over.
//
// A sleeper whose work mostly comes within microseconds *drowses* first: it spins on a word of its own kind, since a
// system call for who wakes it, and the way out of an idle core for itself, take as long as a short kernel. Wakers
// prefer one that drowses; it has a token as any sleeper, so work that one SM can do rouses nobody else. But its
// thread may lose its core to others, for milliseconds: if none of those that drowse has been on a core for some
// microseconds, a sleeper is woken in their place, as if nobody drowsed.
//
// No wake-up is lost between a worker that finds nothing and a submitter that finds no sleeper: the worker counts
// itself as a sleeper, then compares the epoch; the submitter advances the epoch, then looks for sleepers (an event
// count; both seq_cst). idle_gate_interleavings_test.cc runs this very code, on simulated files, in every order of
// steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "os/fd.h"

namespace tutti::device::cpu {

// The operating system under an IdleGate; simulated in tests.
class GateFiles {
 public:
  template <typename T>
  using Atomic = std::atomic<T>;
  struct Edges {
    bool post = false;
    bool doorbell = false;
  };
  // Waits for a step that other threads are about to take as soon as they have a processor.
  class Patience {
   public:
    void Wait();

   private:
    int rounds_ = 0;
  };

  GateFiles();
  void WatchDoorbells(int epoll_fd);
  // Each edge is delivered to one waiter.
  void Post(uint64_t count);
  Edges Wait(uint64_t until_ns);
  uint64_t TakePosts();  // all pending ones
  static uint64_t NowNs() { return tutti::NowNs(); }

 private:
  os::Fd epoll_;
  os::Fd work_;
};

template <typename Files>
class BasicIdleGate {
 public:
  template <typename T>
  using Atomic = typename Files::template Atomic<T>;

  // Sleepers, of now too, also wake when `epoll_fd` becomes readable.
  void WatchDoorbells(int epoll_fd) { files_.WatchDoorbells(epoll_fd); }

  // Changes whenever an idle worker may have got something to do.
  uint32_t epoch() const { return epoch_.load(std::memory_order_seq_cst); }
  void Advance() { epoch_.fetch_add(1, std::memory_order_seq_cst); }
  // Workers that sleep and are not being woken. Ask after Advance: a worker that is not counted then looks once more.
  uint32_t sleepers() const { return static_cast<uint32_t>(tokens_.load(std::memory_order_seq_cst)); }
  // Wakes one sleeper, unless all are being woken already. True if it took a system call: it does not drowse.
  bool WakeOne();
  // As often as workers sleep now: one that sleeps again meanwhile may be woken twice, and another one not.
  void WakeAll();

  struct Woken {
    bool by_doorbell = false;
  };
  // Returns when woken, at `until_ns` (kNever: no limit), or at once if the epoch differs from `seen`. `takes_all`: the
  // caller may take any work.
  Woken Sleep(uint32_t seen, uint64_t until_ns, bool takes_all);

  // A short sleep ahead of Sleep, which no doorbell ends, until `over()` holds: it spins, and asks that again and
  // again. True if it was woken, or if the epoch differs from `seen`: then look again.
  template <typename Over>
  bool Drowse(uint32_t seen, bool takes_all, Over over);
  // `over` says every microsecond or so, by this, that the worker has its core; it did so last at `last_ns`. True if
  // a wake-up may have gone elsewhere since: then it is over.
  bool HasCore(uint64_t last_ns, uint64_t now_ns) {
    // Of many that drowse one is enough. Seen late, it costs a system call.
    const uint64_t said_ns = on_core_ns_.load(std::memory_order_relaxed);
    if (now_ns > said_ns && now_ns - said_ns > kSayPauseNs) on_core_ns_.store(now_ns, std::memory_order_relaxed);
    return now_ns - last_ns > kOffCoreNs / 2 && owed() != 0;
  }

  // Sleep in two steps, for one driver of several workers that waits for all of them (testing/many_sms.h): false if the
  // worker is to look again at once; else it sleeps until it gets up, by a post or by itself.
  bool LieDown(uint32_t seen, bool takes_all);
  // True if a wake-up was meant for it, or came while it got up.
  bool GetUp(bool by_post);
  // Sleepers that are being woken.
  uint32_t owed() const { return static_cast<uint32_t>(tokens_.load(std::memory_order_seq_cst) / kOwed); }

  // Spinning workers watch the epoch themselves and need no wake-up.
  Atomic<uint32_t> spinners{0};

 private:
  static constexpr uint64_t kSleeper = 1;
  static constexpr uint64_t kOwed = uint64_t{1} << 32;

  bool BecomeSleeper(uint32_t seen, bool takes_all);
  bool ClaimSleeper(uint64_t turn_into);
  bool TakePost();
  bool PostOne();
  bool AreOffCore() const;
  bool TakeCall();
  bool StopDrowsing();

  static constexpr uint64_t kOffCoreNs = 5'000, kSayPauseNs = 1'000;

  // Workers in Drowse are as many as both halves together.
  static constexpr uint64_t kDrowser = 1;
  static constexpr uint64_t kCall = uint64_t{1} << 32;

  Files files_;
  Atomic<uint32_t> epoch_{0};
  Atomic<uint64_t> tokens_{0};  // sleepers, and above them what is owed
  Atomic<uint64_t> drowsers_{0};  // those that nobody has called, and above them calls: wake-ups that one of them takes
  alignas(64) Atomic<uint64_t> on_core_ns_{0};  // when one of them last had its core
};

// A worker that gets up claims its own token, a waker claims one for a sleeper.
template <typename Files>
bool BasicIdleGate<Files>::ClaimSleeper(uint64_t turn_into) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  while (static_cast<uint32_t>(tokens) != 0) {
    if (tokens_.compare_exchange_weak(tokens, tokens - kSleeper + turn_into, std::memory_order_seq_cst)) return true;
  }
  return false;
}

template <typename Files>
bool BasicIdleGate<Files>::WakeOne() {
  return ClaimSleeper(kOwed) && PostOne();
}

template <typename Files>
void BasicIdleGate<Files>::WakeAll() {
  while (ClaimSleeper(kOwed)) PostOne();
}

template <typename Files>
bool BasicIdleGate<Files>::PostOne() {
  uint64_t drowsers = drowsers_.load(std::memory_order_seq_cst);
  if (static_cast<uint32_t>(drowsers) != 0 && AreOffCore()) drowsers = 0;
  while (static_cast<uint32_t>(drowsers) != 0) {
    if (drowsers_.compare_exchange_weak(drowsers, drowsers - kDrowser + kCall, std::memory_order_seq_cst)) return false;
  }
  files_.Post(1);
  return true;
}

// The clock first: whoever says meanwhile that it has its core is not taken for one that has lost it.
template <typename Files>
bool BasicIdleGate<Files>::AreOffCore() const {
  const uint64_t now_ns = Files::NowNs(), on_core_ns = on_core_ns_.load(std::memory_order_relaxed);
  return now_ns > on_core_ns && now_ns - on_core_ns > kOffCoreNs;
}

// Any of those that drowse, whoever was meant.
template <typename Files>
bool BasicIdleGate<Files>::TakeCall() {
  uint64_t drowsers = drowsers_.load(std::memory_order_seq_cst);
  while (drowsers >= kCall) {
    if (drowsers_.compare_exchange_weak(drowsers, drowsers - kCall, std::memory_order_seq_cst)) {
      tokens_.fetch_sub(kOwed, std::memory_order_seq_cst);
      return true;
    }
  }
  return false;
}

// False if all that drowse have been called: then there is a call for this one.
template <typename Files>
bool BasicIdleGate<Files>::StopDrowsing() {
  uint64_t drowsers = drowsers_.load(std::memory_order_seq_cst);
  while (static_cast<uint32_t>(drowsers) != 0) {
    if (drowsers_.compare_exchange_weak(drowsers, drowsers - kDrowser, std::memory_order_seq_cst)) return true;
  }
  return false;
}

// The epoch is compared when wakers can see it drowse, and not again: a submission moves it, but mostly whoever has
// submitted takes all there is. What is left is told of by a call.
template <typename Files>
template <typename Over>
bool BasicIdleGate<Files>::Drowse(uint32_t seen, bool takes_all, Over over) {
  if (!BecomeSleeper(seen, takes_all)) return true;
  on_core_ns_.store(Files::NowNs(), std::memory_order_relaxed);
  drowsers_.fetch_add(kDrowser, std::memory_order_seq_cst);
  const bool moved = epoch() != seen;
  while (!moved && !over()) {
    if (TakeCall()) return true;
  }
  while (!StopDrowsing()) {
    if (TakeCall()) return true;  // another one may have taken the call for this one, whose own is about to come
  }
  const bool woken = GetUp(false);
  return woken || moved;
}

template <typename Files>
bool BasicIdleGate<Files>::BecomeSleeper(uint32_t seen, bool takes_all) {
  uint64_t tokens = tokens_.load(std::memory_order_seq_cst);
  for (typename Files::Patience patience;;) {
    if (!takes_all && tokens >= kOwed) {  // sleepers that are owed a wake-up are getting up
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

// A worker that was woken by a post consumes one: the edge was its own, and no other worker will learn of that post.
// One that gets up by itself returns its token, if no waker has claimed it: it must not consume a post that was meant
// for a sleeper. If there is neither token nor post, a waker is between its claim and its post.
template <typename Files>
bool BasicIdleGate<Files>::GetUp(bool by_post) {
  for (typename Files::Patience patience;; patience.Wait()) {
    if (by_post && TakePost()) return true;
    if (ClaimSleeper(0)) return false;
    if (!by_post && TakePost()) return true;
  }
}

template <typename Files>
bool BasicIdleGate<Files>::LieDown(uint32_t seen, bool takes_all) {
  if (!BecomeSleeper(seen, takes_all)) return false;
  if (epoch() == seen) return true;
  GetUp(false);
  return false;
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
