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
  // Fails when nobody listens in the pipe directory; the text names the socket and what to do. A daemon may hang without
  // being dead: `patience_ms` bounds how long connecting, and then each command, may take; < 0 waits for ever.
  static Result<DaemonConnection> Open(const Places& places, int patience_ms = -1);

  // Runs one command line and waits for its answer, however long the command takes if the patience has no bound. After a
  // failure every further command fails as well: a late answer would be taken for that of another command.
  Result<Answer> Run(std::string_view line);

  // Waits until the daemon's process is gone, for callers that look at the process list next. Not longer than five
  // seconds after it has closed the connection.
  void WaitForEnd();

  // 0 if the daemon lives in a PID namespace that this process does not see.
  pid_t daemon_pid() const { return daemon_pid_; }

 private:
  DaemonConnection(os::Fd socket, os::Fd process, pid_t pid, int patience_ms)
      : socket_(std::move(socket)), process_(std::move(process)), daemon_pid_(pid), patience_ms_(patience_ms) {}
  Result<Answer> Exchange(std::string_view line);

  os::Fd socket_;   // empty after a failure
  os::Fd process_;  // pidfd of the daemon; empty where it cannot be had
  pid_t daemon_pid_ = 0;
  int patience_ms_ = -1;
  uint32_t next_serial_ = 1;
};

}  // namespace tutti::control
