// The process that starts programs for one that may not, or no longer: a server, once confined
// (server/confinement.h), can neither fork nor signal another process.
//
// The spawner is forked from the server before that has clients, and what it runs is fixed then: a server that was
// taken over can make it start one of these programs, or end one that it started, and nothing else. It bounds how many
// run, and ends with the server, even if it is stopped itself.
//
// If the spawner ends, nothing more can be started: requests fail with that reason. It cannot be replaced, since the
// server may start nothing; the server's owner ends it once it is unused, and the next client gets a new one
// (server/main.cc).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::os {

// Thread-safe; calls but Abandon wait for the spawner, a few milliseconds.
class Spawner {
 public:
  struct Program {
    std::string path;
    std::vector<std::string> arguments;  // including argv[0]
    std::vector<std::string> environment;  // "NAME=value", in place of ours of that name; "NAME": without
    std::vector<int>
        files;  // the child's numbers of what is given to StartProgram; those of 0, 1, 2 not in it: nothing
    size_t most = 1;  // at once
  };
  // Call it before confinement, and before there are threads.
  static Result<std::shared_ptr<Spawner>> Start(std::vector<Program> programs);
  // Ends the spawner.
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Starts the program of that number. `fds`: as many as its files. The child is not ours.
  Result<pid_t> StartProgram(uint32_t program, std::span<const int> fds);
  // Kills and reaps what this spawner has started. Returns its wait status.
  Result<int> End(pid_t child);
  // Has it killed, and reaped when it has ended, which a process that waits in a driver may not do for long. Does not
  // wait.
  void Abandon(pid_t child);

  // It does not answer any more.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // Hangs up when the spawner has ended.
  int fd() const { return socket_.get(); }
  pid_t pid() const { return pid_; }

 private:
  Spawner(pid_t pid, Fd socket) : pid_(pid), socket_(std::move(socket)) {}
  Result<int> Ask(uint32_t program, pid_t child, std::span<const int> fds);

  const pid_t pid_;
  const Fd socket_;
  std::mutex mutex_;  // one question at a time
  std::atomic<bool> lost_{false};
};

}  // namespace tutti::os
