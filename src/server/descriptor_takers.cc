#include "server/descriptor_takers.h"

#include <thread>

#include "os/thread.h"

namespace tutti::server {
namespace {

constexpr size_t kSpare = 2;  // threads that wait for work: there may be no others to be had then

}  // namespace

DescriptorTakers::DescriptorTakers() {
  const std::lock_guard lock(state_->mutex);
  for (size_t i = 0; i < kSpare; ++i) StartThread(state_);
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

size_t DescriptorTakers::held(const Party& party) const {
  const std::lock_guard lock(state_->mutex);
  const auto account = state_->accounts.find(party);
  return account == state_->accounts.end() ? 0 : account->second.held();
}

std::map<DescriptorTakers::Party, size_t> DescriptorTakers::held() const {
  const std::lock_guard lock(state_->mutex);
  std::map<Party, size_t> held;
  for (const auto& [party, account] : state_->accounts) held.emplace(party, account.held());
  return held;
}

void DescriptorTakers::StartThread(const std::shared_ptr<State>& state) {
  std::thread thread = os::TryStartThread("taker", [state] { Run(state); });
  if (!thread.joinable())
    return state->log.Warning("threads", "No thread to take a message's descriptors: it waits for one");
  thread.detach();
  ++state->idle;
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

// A new thread counts as idle from the start.
void DescriptorTakers::Run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
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
