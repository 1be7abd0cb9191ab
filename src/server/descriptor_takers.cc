#include "server/descriptor_takers.h"

#include <cstddef>
#include <memory>
#include <system_error>
#include <thread>

#include "base/log.h"

namespace tutti::server {
namespace {

constexpr size_t kHeapBytes = 64 << 10;
constexpr size_t kSpare = 2;  // threads that wait for work: there may be no others to be had then

}  // namespace

DescriptorTakers::DescriptorTakers() {
  std::unique_lock lock(state_->mutex);
  for (size_t i = 0; i < kSpare; ++i) StartThread(state_);
  state_->began.wait(lock, [this] { return state_->beginning == 0; });
}

DescriptorTakers::~DescriptorTakers() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->added.notify_all();
}

void DescriptorTakers::Add(const Party& party, std::function<void()> take) {
  const std::lock_guard lock(state_->mutex);
  Account& account = state_->accounts[party];
  if (account.begun >= kMostThreads) return account.waiting.push_back(std::move(take));
  ++account.begun;
  state_->due.push_back({party, std::move(take)});
  if (state_->due.size() > state_->idle) StartThread(state_);
  state_->added.notify_one();
}

void DescriptorTakers::StartThread(const std::shared_ptr<State>& state) {
  try {
    std::thread([state] { Run(state); }).detach();
    ++state->idle;
    ++state->beginning;
  } catch (const std::system_error& error) {
    log::Warning("No thread to take a message's descriptors, it waits for one: {}", error.what());
  }
}

void DescriptorTakers::Finished(State& state, const Party& party) {
  const auto account = state.accounts.find(party);
  if (!account->second.waiting.empty()) {
    state.due.push_back({party, std::move(account->second.waiting.front())});
    account->second.waiting.pop_front();
  } else if (--account->second.begun == 0) {
    state.accounts.erase(account);
  }
}

// A new thread counts as idle from the start. The first thing that it allocates gets it a heap of its own, for which there may
// be no room any more when a message comes.
void DescriptorTakers::Run(const std::shared_ptr<State>& state) {
  const auto heap = std::make_unique<std::byte[]>(kHeapBytes);
  std::unique_lock lock(state->mutex);
  if (--state->beginning == 0) state->began.notify_all();
  for (;;) {
    state->added.wait(lock, [&state] { return state->closed || !state->due.empty(); });
    --state->idle;
    if (state->closed) return;
    Work work = std::move(state->due.front());
    state->due.pop_front();
    lock.unlock();
    work.take();
    work.take = nullptr;  // with what it holds
    lock.lock();
    Finished(*state, work.party);
    if (state->idle >= kSpare && state->due.empty()) return;
    ++state->idle;
  }
}

}  // namespace tutti::server
