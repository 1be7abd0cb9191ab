// Decides when the daemon continues as the newly installed program (SIGUSR2): once nothing is in progress that would be
// lost, such as an unanswered command or a starting server; mostly within milliseconds. A deadline limits how long
// untrusted callers can delay it by keeping something in progress; after that their commands are lost. Clients never
// are: those that have not sent their Hello yet, and those that wait for a server, go to the next program. Daemon
// thread only.
#pragma once

#include <functional>

#include "daemon/life/succession.h"
#include "daemon/loop/event_loop.h"

namespace tutti::daemon {

class Handover {
 public:
  struct Daemon {
    std::function<bool()> quiet;  // nothing in progress would be lost now
    std::function<Leaving()>
        leave;  // tells the servers to end with their last client; returns what goes to the next program
    std::function<void()> gave_up;  // exec failed: the daemon continues as it is
  };

  Handover(EventLoop& loop, Daemon daemon) : loop_(loop), daemon_(std::move(daemon)) {}

  // Does not return if it can be done now; else does it as soon as it can, at the latest after half a minute.
  void Begin();

 private:
  void Try();
  void GiveUp(const std::string& why);

  EventLoop& loop_;
  Daemon daemon_;
  uint64_t deadline_ns_ = 0;  // 0: not requested
};

}  // namespace tutti::daemon
