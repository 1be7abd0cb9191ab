// Threads are contexts on stacks of their own, of which one runs until it says that others may go first.
#include "base/testing/threads.h"

#include <utility>

namespace tutti::interleavings {
namespace {

constexpr size_t kStackBytes = 64 << 10;

Threads* current = nullptr;

}  // namespace

Threads::Threads() { current = this; }

Threads::~Threads() {
  if (current == this) current = nullptr;
}

Threads& Threads::Current() { return *current; }

void Threads::Start(std::string name, std::function<void()> body, bool may_wait) {
  auto thread = std::make_unique<Thread>();
  thread->name = std::move(name);
  thread->body = std::move(body);
  thread->may_wait = may_wait;
  thread->stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = thread->stack.get();
  thread->context.uc_stack.ss_size = kStackBytes;
  makecontext(&thread->context, &Threads::Main, 0);
  threads_.push_back(std::move(thread));
}

void Threads::Main() {
  Threads& world = *current;
  Thread& thread = *world.running_;
  thread.body();
  thread.done = true;
  world.Leave(thread);
}

void Threads::Enter(Thread& thread) { swapcontext(&own_, &thread.context); }

void Threads::Leave(Thread& thread) { swapcontext(&thread.context, &own_); }

std::vector<uint32_t> Threads::Steps() {
  std::vector<uint32_t> steps;
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = *threads_[i];
    if (!thread.done && (!thread.condition || thread.condition())) steps.push_back(i);
  }
  return steps;
}

void Threads::Do(uint32_t step) {
  current = this;
  running_ = threads_[step].get();
  running_->condition = nullptr;
  Enter(*running_);
  running_ = nullptr;
}

uint64_t Threads::State() {
  Hash hash;
  for (const auto& thread : threads_) hash.Add(thread->history.value()).Add(thread->done ? 1 : 0);
  for (const uint64_t* word : words_) hash.Add(*word);
  return hash.value();
}

std::string Threads::Problem() {
  if (!problem_.empty() || !Steps().empty()) return problem_;
  for (const auto& thread : threads_) {
    if (!thread->done && !thread->may_wait) return thread->name + " waits for ever";
  }
  return ProblemAtEnd();
}

void Threads::Turn() {
  if (running_ == nullptr) return;  // before the first step
  running_->history.Add(1);
  Leave(*running_);
}

void Threads::Until(const std::function<bool()>& condition) {
  running_->condition = condition;
  Turn();
}

void Threads::Saw(uint64_t value) {
  if (running_ != nullptr) running_->history.Add(value);
}

void Threads::Forget(uint64_t round) { running_->history = Hash().Add(round); }

void Threads::Fail(std::string problem) {
  if (problem_.empty()) problem_ = running_->name + ": " + std::move(problem);
}

}  // namespace tutti::interleavings
