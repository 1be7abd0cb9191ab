// A thread is a stack of which one runs until it says that others may go first. All that it was doing is then on that
// stack, so to copy the stack is to keep the thread, and to copy it back is to have the thread again.
#include "base/testing/threads.h"

#include <algorithm>
#include <cstring>
#include <utility>

extern "C" void tutti_interleavings_switch(void** save, void* to);

// Keeps what a call keeps (System V ABI, 3.2.1), and goes on where the other one did so.
__asm__(R"(
        .text
        .type tutti_interleavings_switch, @function
tutti_interleavings_switch:
        pushq %rbp
        pushq %rbx
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        movq %rsp, (%rdi)
        movq %rsi, %rsp
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbx
        popq %rbp
        ret
        .size tutti_interleavings_switch, . - tutti_interleavings_switch
)");

namespace tutti::interleavings {
namespace {

constexpr size_t kStackBytes = 32 << 10;
constexpr size_t kFrameBytes = 512;  // a step's frames mostly fit in: without leftovers, equal states look equal
constexpr size_t kKeptRegisters = 6;
constexpr uint32_t kArrival = Threads::kStepsOfThread - 1;  // a late store arrives
constexpr uint32_t kGivenUp = 1;            // of what is waited for

Threads* current = nullptr;

}  // namespace

Threads::Threads(Memory memory) : memory_(memory) { current = this; }

Threads::~Threads() = default;

Threads& Threads::Current() { return *current; }

void Threads::Start(std::string name, std::function<void()> body, bool may_wait) {
  auto thread = std::make_unique<Thread>();
  thread->name = std::move(name);
  thread->body = std::move(body);
  thread->may_wait = may_wait;
  thread->memory = std::make_unique<uint8_t[]>(kStackBytes);
  const auto end = reinterpret_cast<uintptr_t>(thread->memory.get()) + kStackBytes;
  thread->top = reinterpret_cast<uint8_t*>(end & ~uintptr_t{15});
  // As if Main had been called from nowhere: its address, and above it where it would return to.
  auto* const entry = reinterpret_cast<uint64_t*>(thread->top) - 2;
  *entry = reinterpret_cast<uint64_t>(&Threads::Main);
  thread->state.stack = reinterpret_cast<uint8_t*>(entry - kKeptRegisters);
  threads_.push_back(std::move(thread));
}

void Threads::Know(void* memory, size_t bytes) {
  auto* const words = static_cast<uint64_t*>(memory);
  const size_t count = bytes / sizeof(uint64_t);
  std::erase_if(known_,
                [&](const Known& known) { return known.words >= words && known.words + known.count <= words + count; });
  if (!known_.empty() && known_.back().words + known_.back().count == words) {
    known_.back().count += count;
  } else {
    known_.push_back({words, count});
  }
}

void Threads::Main() {
  Threads& world = *current;
  Thread& thread = *world.threads_[world.running_];
  thread.body();
  thread.state.done = true;
  world.SwitchBack();
}

void Threads::Enter(Thread& thread) {
  uint8_t* const low = std::max(thread.memory.get(), thread.state.stack - kFrameBytes);
  std::memset(low, 0, static_cast<size_t>(thread.state.stack - low));
  tutti_interleavings_switch(&own_stack_, thread.state.stack);
}

void Threads::SwitchBack() {
  tutti_interleavings_switch(reinterpret_cast<void**>(&threads_[running_]->state.stack), own_stack_);
}

std::vector<uint32_t> Threads::Steps() {
  std::vector<uint32_t> steps;
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const ThreadState& state = threads_[i]->state;
    if (state.late != 0) steps.push_back(i * kStepsOfThread + kArrival);
    if (state.done || (state.in_order && state.late != 0)) continue;
    if (state.condition == nullptr) {
      for (uint32_t choice = 0; choice < state.choices; ++choice) steps.push_back(i * kStepsOfThread + choice);
      continue;
    }
    if (state.condition(state.condition_of)) steps.push_back(i * kStepsOfThread);
    if (state.choices > kGivenUp) steps.push_back(i * kStepsOfThread + kGivenUp);
  }
  return steps;
}

void Threads::Do(uint32_t step) {
  current = this;
  Thread& thread = *threads_[step / kStepsOfThread];
  chosen_ = step % kStepsOfThread;
  if (chosen_ == kArrival) return Arrive(thread.state);
  running_ = step / kStepsOfThread;
  thread.state.condition = nullptr;
  thread.state.condition_of = nullptr;
  thread.state.choices = 1;
  thread.state.in_order = false;
  Enter(thread);
  running_ = kNobody;
}

std::string Threads::Name(uint32_t step) {
  static const std::string kEndings[] = {"", "'", "\"", "\"'"};
  const uint32_t what = step % kStepsOfThread;
  return threads_[step / kStepsOfThread]->name + (what == kArrival ? " arrives" : kEndings[what % 4]) + ";";
}

bool Threads::Save(std::vector<uint64_t>* state) {
  state->clear();
  const auto add = [&](const void* from, size_t bytes) {
    const size_t at = state->size();
    state->resize(at + bytes / sizeof(uint64_t));
    std::memcpy(state->data() + at, from, bytes);
  };
  static_assert(sizeof(ThreadState) % sizeof(uint64_t) == 0);
  for (const auto& thread : threads_) {
    add(&thread->state, sizeof thread->state);
    if (!thread->state.done) add(thread->state.stack, static_cast<size_t>(thread->top - thread->state.stack));
  }
  for (const Known& known : known_) add(known.words, known.count * sizeof(uint64_t));
  return true;
}

void Threads::Restore(const std::vector<uint64_t>& state) {
  const uint64_t* next = state.data();
  const auto take = [&](void* to, size_t bytes) {
    std::memcpy(to, next, bytes);
    next += bytes / sizeof(uint64_t);
  };
  for (const auto& thread : threads_) {
    take(&thread->state, sizeof thread->state);
    if (!thread->state.done) take(thread->state.stack, static_cast<size_t>(thread->top - thread->state.stack));
  }
  for (const Known& known : known_) take(known.words, known.count * sizeof(uint64_t));
}

uint64_t Threads::State() {
  Save(&state_);
  Hash hash;
  for (const uint64_t word : state_) hash.Add(word);
  return hash.value();
}

std::string Threads::Problem() {
  if (!problem_.empty() || !Steps().empty()) return problem_;
  for (const auto& thread : threads_) {
    if (!thread->state.done && !thread->may_wait) return thread->name + " waits for ever";
  }
  return ProblemAtEnd();
}

void Threads::Turn() {
  if (running_ != kNobody) SwitchBack();
}

void Threads::TurnInOrder() {
  if (running_ == kNobody) return;  // before the first step
  threads_[running_]->state.in_order = true;
  SwitchBack();
}

uint32_t Threads::Choose(uint32_t many) {
  threads_[running_]->state.choices = many;
  SwitchBack();
  return chosen_;
}

bool Threads::Wait(Condition condition, const void* of, bool may_time_out) {
  ThreadState& state = threads_[running_]->state;
  state.condition = condition;
  state.condition_of = of;
  state.choices = may_time_out ? kGivenUp + 1 : 1;
  SwitchBack();
  return chosen_ != kGivenUp;
}

void Threads::StoreLate(uint64_t* word, uint64_t value) {
  Turn();
  if (running_ == kNobody || memory_ == Memory::kSequential) {
    *word = value;
    return;
  }
  ThreadState& state = threads_[running_]->state;
  if (state.late == state.stores.size()) Arrive(state);
  state.stores[state.late++] = {word, value};
}

uint64_t Threads::Load(const uint64_t* word) const {
  if (running_ == kNobody) return *word;
  const ThreadState& state = threads_[running_]->state;
  for (uint32_t i = state.late; i > 0; --i) {
    if (state.stores[i - 1].word == word) return state.stores[i - 1].value;
  }
  return *word;
}

void Threads::Arrive(ThreadState& state) {
  *state.stores[0].word = state.stores[0].value;
  std::move(state.stores.begin() + 1, state.stores.begin() + state.late, state.stores.begin());
  state.stores[--state.late] = {};
}

void Threads::Fail(std::string problem) {
  if (problem_.empty()) problem_ = threads_[running_]->name + ": " + std::move(problem);
}

}  // namespace tutti::interleavings
