// The daemon's hold on its pipe directory: one daemon per directory, its files, their modes, and their removal.
//
// The lock is an flock on control_lock, which the kernel drops however the daemon ends. So what a killed daemon left
// behind is known to be stale by whoever gets the lock, and is replaced; nothing ever has to be cleaned up by hand.
// control_lock itself is never removed: that would let two daemons hold locks on two files of one name.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/error.h"
#include "control/places.h"
#include "os/fd.h"

namespace tutti::daemon {

// What a second daemon says, word for word: scripts look for it.
inline constexpr const char* kAlreadyRunning = "An instance of this daemon is already running";

// What a daemon is given at its start instead of making it itself: by a service manager (sockets), or by the older
// program in whose process it goes on (both).
struct Inheritance {
  std::vector<os::Fd> sockets;  // listening, each known by the path it is bound to
  bool of_manager = false;      // the sockets' files are the manager's: they stay when the daemon ends
  os::Fd lock;
};

class Instance {
 public:
  // Makes the directory if it is missing, takes the lock and creates the files. The listening sockets accept from here
  // on. Fails with kAlreadyRunning, or with a line that names the path and the remedy.
  static Result<Instance> Claim(const control::Places& places, Inheritance inheritance = {});
  ~Instance();
  Instance(Instance&&) = default;
  Instance& operator=(Instance&&) = delete;

  int listener() const { return control_.get(); }
  int privileged_listener() const { return privileged_.get(); }
  int log_fifo() const { return log_fifo_.get(); }
  int lock() const { return lock_.get(); }
  bool of_manager() const { return of_manager_; }

 private:
  explicit Instance(control::Places places) : places_(std::move(places)) {}
  Status TakeLock();
  Status CreateFiles(std::vector<os::Fd> sockets);

  control::Places places_;
  bool of_manager_ = false;
  os::Fd lock_;
  os::Fd control_;
  os::Fd privileged_;
  os::Fd log_fifo_;
};

// Makes `path` and what is missing above it, 0755 whatever the umask. Fails if something else than a directory is
// there.
Status MakeDirectory(const std::string& path);

// Logs a warning if the directory belongs to another user than root and ourselves.
void WarnOfForeignDirectory(const std::string& path);

}  // namespace tutti::daemon
