// When the daemon goes on as the newly installed program (SIGUSR2): not at once, but when nobody is in the middle of
// something it would lose: a command that has not been answered, a server that is starting. That is a matter of
// milliseconds mostly. Strangers who see to it that there is always such a thing hold it off for so long, and no
// longer: then it goes on all the same, and their commands are lost. Clients never are: those that are still to speak,
// and those that wait for a server, are left to the next program. Daemon thread only.
#pragma once

#include <functional>

#include "daemon/life/succession.h"
#include "daemon/loop/event_loop.h"

namespace tutti::daemon {

class Handover {
 public:
  struct Daemon {
    std::function<bool()> quiet;  // no command would be lost now
    std::function<Leaving()>
        leave;  // tells the servers to end with their last client; what is left to the next program
    std::function<void()> gave_up;  // the daemon stays as it is
  };

  Handover(EventLoop& loop, Daemon daemon) : loop_(loop), daemon_(std::move(daemon)) {}

  // Does not return if it can be done now; else it is done when it can, or when half a minute has passed.
  void Begin();

 private:
  void Try();
  void GiveUp(const std::string& why);

  EventLoop& loop_;
  Daemon daemon_;
  uint64_t deadline_ns_ = 0;  // 0: not under way
};

}  // namespace tutti::daemon
