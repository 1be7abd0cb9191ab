// Threads that close unwanted descriptors of clients: those of a message that carries anything but memory files, and
// those an ended client has left unread in its connection. Closing a FUSE file, or a TCP socket with SO_LINGER, blocks
// as long as its owner likes, so no thread that serves other clients does it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/log_budget.h"

namespace tutti::server {

// Thread-safe.
class DescriptorTakers {
 public:
  using Party = std::string;                 // of clients (wire::Attach)
  static constexpr size_t kMostThreads = 8;  // of one party; further tasks wait for one of them

  DescriptorTakers();
  // Does not wait for tasks in progress.
  ~DescriptorTakers();
  DescriptorTakers(const DescriptorTakers&) = delete;

  // Runs `take` on a thread that only this party can block. If no further thread can be started, `take` waits for a
  // free one.
  void Add(const Party& party, std::function<void()> take);
  // Messages and connections being closed, or queued for it: each holds one descriptor of this process, even if its
  // client is gone. For one party, and for each party that has any.
  size_t held(const Party& party) const;
  std::map<Party, size_t> held() const;

 private:
  struct Account {
    size_t begun = 0;
    std::deque<std::function<void()>> waiting;
    size_t held() const { return begun + waiting.size(); }
  };
  struct Work {
    Party party;
    std::function<void()> take;
  };
  struct State {
    std::mutex mutex;
    std::condition_variable added;
    std::map<Party, Account> accounts;
    std::deque<Work> due;
    size_t idle = 0;
    bool closed = false;
    LogBudget log;
  };
  static void StartThread(const std::shared_ptr<State>& state);  // lock held
  static void Run(const std::shared_ptr<State>& state);
  static void Finished(State& state, const Party& party);

  const std::shared_ptr<State> state_ = std::make_shared<State>();  // threads that are held up outlive this
};

}  // namespace tutti::server
