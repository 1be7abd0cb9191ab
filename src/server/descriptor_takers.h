// Threads that close the descriptors which clients have sent and the server does not want: those of a message that
// brings anything but memory, and those that an ended client has left unread in its connection. To close a FUSE file,
// or a TCP socket that lingers, may take as long as its owner likes, so no thread that works for others does it.
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
  static constexpr size_t kMostThreads = 8;  // of one party; what comes beyond waits for one of them

  DescriptorTakers();
  // What is being taken is not waited for.
  ~DescriptorTakers();
  DescriptorTakers(const DescriptorTakers&) = delete;

  // Has `take` run by a thread that this party alone may hold up. Where no more threads can be had, it waits for one
  // that is free.
  void Add(const Party& party, std::function<void()> take);
  // Messages and connections that are being closed, or wait for it: each holds one descriptor of this process, whatever
  // has become of its client. Of one party, and of each that has any.
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
