// The daemon's hold on its pipe directory: one daemon per directory, its files, their modes, and their removal.
//
// The lock is an flock on control_lock, which the kernel drops however the daemon ends. So what a killed daemon left
// behind is known to be stale by whoever gets the lock, and is replaced; nothing ever has to be cleaned up by hand.
// control_lock itself is never removed: that would let two daemons hold locks on two files of one name.
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "control/places.h"
#include "os/fd.h"

namespace tutti::daemon {

// What a second daemon says, word for word: scripts look for it.
inline constexpr const char* kAlreadyRunning = "An instance of this daemon is already running";

class Instance {
 public:
  // Makes the directory if it is missing, takes the lock and creates the files. The listening sockets accept from here on.
  // Fails with kAlreadyRunning, or with a line that names the path and the remedy.
  static Result<Instance> Claim(const control::Places& places);
  ~Instance();
  Instance(Instance&&) = default;
  Instance& operator=(Instance&&) = delete;

  int listener() const { return control_.get(); }
  int privileged_listener() const { return privileged_.get(); }
  int log_fifo() const { return log_fifo_.get(); }

 private:
  explicit Instance(control::Places places) : places_(std::move(places)) {}
  Status TakeLock();
  Status CreateFiles();

  control::Places places_;
  os::Fd lock_;
  os::Fd control_;
  os::Fd privileged_;
  os::Fd log_fifo_;
};

// Makes `path` and what is missing above it, 0755 whatever the umask. Fails if something else than a directory is there.
Status MakeDirectory(const std::string& path);

// Logs a warning if the directory belongs to another user than root and ourselves.
void WarnOfForeignDirectory(const std::string& path);

}  // namespace tutti::daemon
