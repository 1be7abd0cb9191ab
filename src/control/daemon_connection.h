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
  std::string text;  // for stdout, as it is
  int exit_status = 0;
  bool ending = false;      // the daemon is on its way out
  std::vector<os::Fd> files;  // memory files that came with the answer (`trace dump`)
};

class DaemonConnection {
 public:
  // What happens when the patience for the answer to a command has run out.
  enum class AfterPatience {
    kFail,
    kAskWhetherItLives,  // `quit` takes as long as the clients do: who answers another connection is waited for on
  };

  // Fails when nobody listens in the pipe directory; the text names the socket and what to do. A daemon may hang
  // without being dead: `patience_ms` bounds how long connecting, and then each command, may take; < 0 waits for ever.
  static Result<DaemonConnection> Open(const Places& places, int patience_ms = -1,
                                       AfterPatience then = AfterPatience::kFail);

  // Runs one command line and waits for its answer, however long the command takes if the patience has no bound. After
  // a failure every further command fails as well: a late answer would be taken for that of another command.
  Result<Answer> Run(std::string_view line);

  // Waits until the daemon's process is gone, for callers that look at the process list next: so long as the patience
  // for it to close the connection, and five seconds from then on.
  void WaitForEnd();

  // 0 if the daemon lives in a PID namespace that this process does not see.
  pid_t daemon_pid() const { return daemon_pid_; }

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
  os::Fd process_;  // pidfd of the daemon; empty where it cannot be had
  pid_t daemon_pid_ = 0;
  int patience_ms_ = -1;
  AfterPatience then_ = AfterPatience::kFail;
  uint32_t next_serial_ = 1;
};

}  // namespace tutti::control
