// The daemon's ownership of its pipe directory: one daemon per directory, its files, their modes, and their removal.
//
// The lock is an flock on control_lock, which the kernel releases however the daemon ends. Whoever gets the lock
// therefore knows that a killed daemon's files are stale and replaces them; nothing has to be cleaned up by hand.
// control_lock itself is never removed: otherwise two daemons could hold locks on two files of one name. Its mode keeps
// other users from opening it, since whoever can open a file can lock it and so fake a running daemon.
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

// A second daemon's message; scripts match it verbatim.
inline constexpr const char* kAlreadyRunning = "An instance of this daemon is already running";

// The log budget for lines about removed sockets, whose remover is unknown.
inline constexpr const char* kRemoved = "sockets that are removed";

// What a daemon inherits instead of creating: sockets from a service manager, or both from the previous program of its
// process.
struct Inheritance {
  std::vector<os::Fd> sockets;  // listening, each identified by the path it is bound to
  bool of_manager = false;  // the manager owns the sockets' files: they stay when the daemon ends
  os::Fd lock;
};

class Instance {
 public:
  // Creates the directory if it is missing, takes the lock and creates the files. The listening sockets accept from
  // here on. Fails with kAlreadyRunning, or with a line that names the path and the remedy: root's daemon refuses a
  // directory that others can change (daemon/files/directory.h); other users' daemons only warn.
  static Result<Instance> Claim(const control::Places& places, Inheritance inheritance = {});
  ~Instance();
  Instance(Instance&&) = default;
  Instance& operator=(Instance&&) = delete;

  int listener() const { return control_.socket.get(); }
  int privileged_listener() const { return privileged_.socket.get(); }
  int log_fifo() const { return log_fifo_.get(); }
  int lock() const { return lock_.get(); }
  bool of_manager() const { return of_manager_; }
  // Returns, once, the inherited listening sockets bound to other paths.
  std::vector<os::Fd> TakeOtherSockets() { return std::move(other_sockets_); }

  // Recreates files that have been removed or replaced. Calls `closing` with the descriptor before it closes a
  // listening socket or the FIFO. Fails if a file cannot be created, or if another daemon holds the lock by now.
  Status PutBack(const std::function<void(int)>& closing, LogBudget& log);

 private:
  struct Listener {
    os::StrangersFd socket;  // its queue may hold connections
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
