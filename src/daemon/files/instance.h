// The daemon's hold on its pipe directory: one daemon per directory, its files, their modes, and their removal.
//
// The lock is an flock on control_lock, which the kernel drops however the daemon ends. So what a killed daemon left
// behind is known to be stale by whoever gets the lock, and is replaced; nothing ever has to be cleaned up by hand.
// control_lock itself is not removed when the daemon ends: that would let two daemons hold locks on two files of one
// name. Nobody else can open it: who can open a file can lock it, and a daemon would seem to run.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log_budget.h"
#include "control/places.h"
#include "os/close_aside.h"
#include "os/fd.h"
#include "os/file_id.h"

namespace tutti::daemon {

// What a second daemon says, word for word: scripts look for it.
inline constexpr const char* kAlreadyRunning = "An instance of this daemon is already running";

// At whose cost the log speaks of sockets that were removed: who did that is not known.
inline constexpr const char* kRemoved = "sockets that are removed";

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
  // on. Fails with kAlreadyRunning, or with a line that names the path and the remedy: root's daemon serves in no
  // directory that others can change (daemon/files/directory.h), other users' daemons warn of it.
  static Result<Instance> Claim(const control::Places& places, Inheritance inheritance = {});
  ~Instance();
  Instance(Instance&&) = default;
  Instance& operator=(Instance&&) = delete;

  int listener() const { return control_.socket.get(); }
  int privileged_listener() const { return privileged_.socket.get(); }
  int log_fifo() const { return log_fifo_.get(); }
  int lock() const { return lock_.get(); }
  bool of_manager() const { return of_manager_; }
  // Listening sockets that were inherited and are bound to other paths. Once.
  std::vector<os::Fd> TakeOtherSockets() { return std::move(other_sockets_); }

  // Files that somebody has removed, or put something else in the place of, are made anew. Before a listening socket or
  // the FIFO is closed, `closing` is told its descriptor. Fails if one cannot be made, or if another daemon has the
  // lock by now.
  Status PutBack(const std::function<void(int)>& closing, LogBudget& log);

 private:
  struct Listener {
    os::StrangersFd socket;  // with who has connected and was not accepted
    os::FileId file;
  };
  explicit Instance(control::Places places) : places_(std::move(places)) {}
  Status TakeLock();
  Status CreateFiles(std::vector<os::Fd> sockets);
  Status WritePid();
  static Result<Listener> ListenAt(const std::string& path, mode_t mode, std::vector<os::Fd>& inherited);

  control::Places places_;
  bool of_manager_ = false;
  os::Fd lock_;
  Listener control_;
  Listener privileged_;
  os::Fd log_fifo_;
  std::vector<os::Fd> other_sockets_;
};

}  // namespace tutti::daemon
