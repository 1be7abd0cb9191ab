// Threads for interleavings.h: each is an ordinary function that shares Words with the others. Whenever it touches one,
// any other thread may go first. Memory is sequentially consistent; what weaker orders allow is not tried.
//
// A thread is known by what it has read since it began, or since its last Forget(): so it may keep nothing else that
// matters. It does not spin: what a loop would wait for it waits for with Until().
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/interleavings.h"

#if defined(__SANITIZE_THREAD__)
#define TUTTI_INTERLEAVINGS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_INTERLEAVINGS_TSAN 1
#endif
#endif

namespace tutti::interleavings {

// The thread sanitizer loses count of calls where stacks are changed; and there is one thread only.
#ifdef TUTTI_INTERLEAVINGS_TSAN
inline constexpr bool kCanSwitch = false;
#else
inline constexpr bool kCanSwitch = true;
#endif

class Threads : public World {
 public:
  Threads();
  ~Threads() override;

  // Before the first step. A thread that `may_wait` may be left waiting at the end.
  void Start(std::string name, std::function<void()> body, bool may_wait = false);

  std::vector<uint32_t> Steps() override;
  void Do(uint32_t step) override;
  uint64_t State() override;
  std::string Problem() override;
  std::string Name(uint32_t step) override { return threads_[step]->name; }

  // For the thread that runs.
  static Threads& Current();
  void Turn();                                        // others may go first
  void Until(const std::function<bool()>& condition);  // others go until it holds; it is looked at in one step
  void Saw(uint64_t value);
  void Forget(uint64_t round);  // of all that it has read nothing matters any more but `round`
  void Fail(std::string problem);

  // Words belong to a world, which is known by them.
  void Know(const uint64_t* word) { words_.push_back(word); }

 protected:
  // What must hold when no thread can go on.
  virtual std::string ProblemAtEnd() { return {}; }

 private:
  struct Thread {
    std::string name;
    std::function<void()> body;
    bool may_wait = false;
    bool done = false;
    std::function<bool()> condition;
    Hash history;
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
  };
  static void Main();
  void Enter(Thread& thread);
  void Leave(Thread& thread);

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<const uint64_t*> words_;
  Thread* running_ = nullptr;
  ucontext_t own_{};
  std::string problem_;
};

// A shared word with the accesses of std::atomic.
template <typename T>
class Word {
 public:
  explicit Word(T value = T()) : value_(static_cast<uint64_t>(value)) { Threads::Current().Know(&value_); }
  Word(const Word&) = delete;

  // For conditions and checks, which are no steps.
  T peek() const { return static_cast<T>(value_); }

  T load(int = 0) const {
    Threads::Current().Turn();
    return Seen();
  }
  void store(T value, int = 0) {
    Threads::Current().Turn();
    value_ = static_cast<uint64_t>(value);
  }
  T exchange(T value) { return Change([value](T) { return value; }); }
  T fetch_add(T by) { return Change([by](T old) { return static_cast<T>(old + by); }); }
  T fetch_sub(T by) { return Change([by](T old) { return static_cast<T>(old - by); }); }
  T fetch_or(T bits) { return Change([bits](T old) { return static_cast<T>(old | bits); }); }
  T fetch_and(T bits) { return Change([bits](T old) { return static_cast<T>(old & bits); }); }
  bool compare_exchange(T& expected, T value) {
    Threads::Current().Turn();
    const T old = Seen();
    if (old == expected) value_ = static_cast<uint64_t>(value);
    const bool done = old == expected;
    expected = old;
    return done;
  }

 private:
  T Seen() const {
    Threads::Current().Saw(value_);
    return static_cast<T>(value_);
  }
  template <typename Next>
  T Change(Next next) {
    Threads::Current().Turn();
    const T old = Seen();
    value_ = static_cast<uint64_t>(next(old));
    return old;
  }

  uint64_t value_;
};

// A futex on a Word: as os/futex.h, without time limits.
class Futex {
 public:
  explicit Futex(uint32_t value = 0) : word(value) {}
  Word<uint32_t> word;

  void Wait(uint32_t expected) {
    word.load();
    if (word.peek() != expected) return;
    const uint32_t woken = woken_.peek();
    Threads::Current().Until([this, woken] { return woken_.peek() != woken; });
  }
  void WakeAll() { woken_.fetch_add(1); }

 private:
  Word<uint32_t> woken_{0};
};

}  // namespace tutti::interleavings
