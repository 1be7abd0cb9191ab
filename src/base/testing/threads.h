// Threads for interleavings.h: each is an ordinary function that shares Words with the others. Whenever it touches one,
// any other thread may go first.
//
// What a thread keeps is on its stack, in Words, or in memory that the world has been told of (Know): all of it is what
// a state is made of, and is put back where paths branch. A loop that finds nothing new leads to a state that was seen,
// and ends. Threads allocate nothing.
//
// Memory is sequentially consistent, or has store buffers, as x86 has them: then a store that is not seq_cst waits in
// the thread's own buffer, for as long as it likes, while the thread goes on; it sees it, the others do not.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/interleavings.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TUTTI_INTERLEAVINGS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TUTTI_INTERLEAVINGS_SANITIZED 1
#endif
#endif

namespace tutti::interleavings {

// The sanitizers keep books of calls and frames, and lose count where stacks are changed and put back.
#ifdef TUTTI_INTERLEAVINGS_SANITIZED
inline constexpr bool kCanSwitch = false;
#else
inline constexpr bool kCanSwitch = true;
#endif

enum class Memory { kSequential, kStoreBuffers };

class Threads : public World {
 public:
  explicit Threads(Memory memory = Memory::kSequential);
  ~Threads() override;

  // Before the first step. A thread that `may_wait` may be left waiting at the end.
  void Start(std::string name, std::function<void()> body, bool may_wait = false);
  // Memory that is part of the state and not a Word.
  void Know(void* memory, size_t bytes);

  // A thread's steps are numbered from kStepsOfThread times its own number: the first is that it goes on.
  static constexpr uint32_t kStepsOfThread = 16;
  std::vector<uint32_t> Steps() override;
  void Do(uint32_t step) override;
  uint64_t State() override;
  bool Save(std::vector<uint64_t>* state) override;
  void Restore(const std::vector<uint64_t>& state) override;
  std::string Problem() override;
  std::string Name(uint32_t step) override;

  // For the thread that runs.
  static Threads& Current();
  uint32_t running() const { return running_; }  // its number, as started
  void Turn();  // others may go first
  uint32_t Choose(uint32_t many);  // anything below `many` happens
  // Others go until the condition holds; it is looked at in one step. It may be given up at any time if it
  // `may_time_out`; true: it held.
  template <typename Condition>
  bool Until(const Condition& condition, bool may_time_out = false) {
    return Wait([](const void* which) -> bool { return (*static_cast<const Condition*>(which))(); }, &condition,
                may_time_out);
  }
  void Fail(std::string problem);

  // For Word.
  void TurnInOrder();  // what the thread has stored is seen by all, then its turn
  void StoreLate(uint64_t* word, uint64_t value);
  uint64_t Load(const uint64_t* word) const;

 protected:
  // What must hold when no thread can go on.
  virtual std::string ProblemAtEnd() { return {}; }

 private:
  struct LateStore {
    uint64_t* word = nullptr;
    uint64_t value = 0;
  };
  using Condition = bool (*)(const void*);
  // What of a thread is not on its stack.
  struct ThreadState {
    uint8_t* stack = nullptr;  // its lowest byte in use
    Condition condition = nullptr;
    const void* condition_of = nullptr;
    uint32_t choices = 1;  // steps that are its next one; 0: the condition, and giving it up
    bool in_order = false;  // only when no store of its own is late
    bool done = false;
    uint32_t late = 0;
    std::array<LateStore, 4> stores;
  };
  struct Thread {
    std::string name;
    std::function<void()> body;
    bool may_wait = false;
    std::unique_ptr<uint8_t[]> memory;
    uint8_t* top = nullptr;
    ThreadState state;
  };
  struct Known {
    uint64_t* words;
    size_t count;
  };
  static void Main();
  bool Wait(Condition condition, const void* of, bool may_time_out);
  void Enter(Thread& thread);
  void SwitchBack();
  static void Arrive(ThreadState& state);

  const Memory memory_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Known> known_;
  uint32_t running_ = kNobody;
  uint32_t chosen_ = 0;
  void* own_stack_ = nullptr;
  std::string problem_;
  std::vector<uint64_t> state_;

  static constexpr uint32_t kNobody = ~0u;
};

// A shared word with the accesses of std::atomic.
template <typename T>
class Word {
 public:
  Word(T value = T()) : value_(static_cast<uint64_t>(value)) { Threads::Current().Know(&value_, sizeof value_); }
  Word(const Word&) = delete;

  // For conditions and checks, and for what happens in one step with something else.
  T peek() const { return static_cast<T>(value_); }
  void Put(T value) { value_ = static_cast<uint64_t>(value); }

  // A relaxed one is a hint, and part of the step before.
  T load(std::memory_order order = std::memory_order_seq_cst) const {
    if (order != std::memory_order_relaxed) Threads::Current().Turn();
    return static_cast<T>(Threads::Current().Load(&value_));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    if (order != std::memory_order_seq_cst) return Threads::Current().StoreLate(&value_, static_cast<uint64_t>(value));
    Threads::Current().TurnInOrder();
    value_ = static_cast<uint64_t>(value);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return Change([value](T) { return value; });
  }
  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst) {
    return Change([by](T old) { return static_cast<T>(old + by); });
  }
  T fetch_sub(T by, std::memory_order = std::memory_order_seq_cst) {
    return Change([by](T old) { return static_cast<T>(old - by); });
  }
  T fetch_or(T bits, std::memory_order = std::memory_order_seq_cst) {
    return Change([bits](T old) { return static_cast<T>(old | bits); });
  }
  T fetch_and(T bits, std::memory_order = std::memory_order_seq_cst) {
    return Change([bits](T old) { return static_cast<T>(old & bits); });
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order = std::memory_order_seq_cst) {
    const T wanted = expected;
    expected = Change([wanted, value](T old) { return old == wanted ? value : old; });
    return expected == wanted;
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value, order);
  }

 private:
  template <typename Next>
  T Change(Next next) {
    Threads::Current().TurnInOrder();
    const T old = static_cast<T>(value_);
    value_ = static_cast<uint64_t>(next(old));
    return old;
  }

  uint64_t value_;
};

// A Word none of whose stores is seq_cst, whatever it is asked for.
template <typename T>
struct LateWord : Word<T> {
  using Word<T>::Word;
  void store(T value, std::memory_order = {}) { Word<T>::store(value, std::memory_order_release); }
};

// A futex on a Word: as os/futex.h.
class Futex {
 public:
  explicit Futex(uint32_t value = 0) : word(value) {}
  Word<uint32_t> word;

  bool Wait(uint32_t expected, bool may_time_out = false) {
    if (word.load() != expected) return true;
    const uint32_t sleeper = 1u << Threads::Current().running();
    asleep_.Put(asleep_.peek() | sleeper);
    const bool woken = Threads::Current().Until([&] { return (asleep_.peek() & sleeper) == 0; }, may_time_out);
    asleep_.Put(asleep_.peek() & ~sleeper);
    return woken;
  }
  void WakeAll() { asleep_.exchange(0); }

 private:
  Word<uint32_t> asleep_{0};  // threads
};

}  // namespace tutti::interleavings
