// Makes the servers known to each other, so that what their clients have of the devices is counted together
// (wire/server_page.h): each gets a page to write, which the others can only read. Daemon thread only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "daemon/loop/event_loop.h"
#include "daemon/servers/server_handle.h"
#include "os/fd.h"

namespace tutti::daemon {

class Introductions {
 public:
  explicit Introductions(EventLoop& loop) : loop_(loop) {}
  ~Introductions();
  Introductions(const Introductions&) = delete;

  // Calls `done`, later, when the server and the others know each other. Those that do not answer soon, as they are
  // stopped, are not waited for: they allocate nothing meanwhile. Once for each server; not called if Forget comes
  // before.
  void Introduce(ServerHandle& server, std::function<void()> done);
  // It has ended.
  void Forget(pid_t pid);

 private:
  struct Known {
    ServerHandle* server;
    os::Fd page;  // sealed; none before the server has mapped it
    std::set<pid_t> awaited;  // others, which have not confirmed that they know it
    bool known_to_all = true;  // but for these
    std::function<void()> done;  // none when it was called
    uint64_t number = 0;  // of the introduction: a server may report twice
    TimerId timer = 0;
  };
  void Mapped(pid_t pid);
  void Tell(ServerHandle& listener, const Known& other);
  void Confirmed(pid_t pid, pid_t by, bool knows);
  void Settle(pid_t pid);
  void FinishAfter(pid_t pid, uint64_t delay_ns);

  EventLoop& loop_;
  std::map<pid_t, Known> known_;
  uint64_t introductions_ = 0;
};

}  // namespace tutti::daemon
