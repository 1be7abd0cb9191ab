// A shell's connection to the control daemon: one command after the other, each with its whole answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "control/places.h"
#include "os/fd.h"
#include "os/socket.h"

namespace tutti::control {

struct Answer {
  std::string text;  // printed to stdout unchanged
  int exit_status = 0;
  bool ending = false;      // the daemon is ending
  std::vector<os::Fd> files;  // memory files that came with the answer (`trace dump`)
};

class DaemonConnection {
 public:
  // What to do when a command's answer has timed out.
  enum class AfterPatience {
    kFail,
    kAskWhetherItLives,  // `quit` takes as long as the clients: wait on if the daemon answers another connection
  };

  // Fails if nobody listens in the pipe directory; the text names the socket and the remedy. A daemon may hang:
  // `patience_ms` bounds connecting, and then each command; < 0: no timeout.
  static Result<DaemonConnection> Open(const Places& places, int patience_ms = -1,
                                       AfterPatience then = AfterPatience::kFail);

  // Runs one command line and waits for its answer, within the timeout. After a failure every further command fails as
  // well, since a late answer would be taken for another command's.
  Result<Answer> Run(std::string_view line);

  // Of the commands from now on.
  void set_patience_ms(int patience_ms) { patience_ms_ = patience_ms; }

  // Waits until the daemon's process is gone, for callers that look at the process list next: up to the timeout for it
  // to close the connection, and five seconds after that.
  void WaitForEnd();

  // 0 if the daemon lives in a PID namespace that is not visible from here.
  pid_t daemon_pid() const { return daemon_pid_; }
  // Who listens, as the kernel says it.
  uid_t daemon_uid() const { return daemon_uid_; }

 private:
  DaemonConnection(Places places, os::Fd socket, os::Fd process, pid_t pid, int patience_ms, AfterPatience then)
      : places_(std::move(places)),
        socket_(std::move(socket)),
        process_(std::move(process)),
        daemon_pid_(pid),
        patience_ms_(patience_ms),
        then_(then) {}
  Result<Answer> Exchange(std::string_view line);
  Status AwaitPacket(std::string_view line, int64_t deadline_ms);

  Places places_;

  os::Fd socket_;  // empty after a failure
  os::Fd process_;  // pidfd of the daemon; empty if unavailable
  pid_t daemon_pid_ = 0;
  uid_t daemon_uid_ = static_cast<uid_t>(-1);
  int patience_ms_ = -1;
  AfterPatience then_ = AfterPatience::kFail;
  uint32_t next_serial_ = 1;
};

}  // namespace tutti::control
