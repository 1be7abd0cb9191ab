// When the daemon goes on as the newly installed program (SIGUSR2): not at once, but when nobody is in the middle of
// something it would lose: a client on its way to a server, a command that has not been answered, a server that is
// starting. That is a matter of milliseconds mostly. Daemon thread only.
#pragma once

#include <functional>

#include "daemon/event_loop.h"
#include "daemon/succession.h"

namespace tutti::daemon {

class Handover {
 public:
  struct Daemon {
    std::function<bool()> quiet;  // nothing would be lost now
    std::function<Leaving()>
        leave;                      // tells the servers to end with their last client; what is left to the next program
    std::function<void()> gave_up;  // the daemon stays as it is
  };

  Handover(EventLoop& loop, Daemon daemon) : loop_(loop), daemon_(std::move(daemon)) {}

  // Does not return if it can be done now; else tries again until it can, or until half a minute has passed.
  void Begin();

 private:
  void Try();
  void GiveUp(const std::string& why);

  EventLoop& loop_;
  Daemon daemon_;
  uint64_t deadline_ns_ = 0;  // 0: not under way
};

}  // namespace tutti::daemon
