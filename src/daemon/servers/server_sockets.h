// The sockets of protocol 3's servers and namespaces, and of claims. They route clients by the directory that
// CUDA_MPS_PIPE_DIRECTORY names:
//
//   <pipe directory>/<server>/control                the server's namespace "default"
//   <pipe directory>/<server>/<namespace>/control    another of its namespaces
//   <pipe directory>/<server>/log                    FIFO, 0777: a line written here appears in control.log
//   <pipe directory>/claims/<claim>/control          a claim (daemon/access/claim.h)
//
// Daemon thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log_budget.h"
#include "daemon/loop/log_fifo.h"
#include "daemon/servers/server_catalog.h"
#include "os/close_aside.h"
#include "os/fd.h"
#include "os/file_id.h"

namespace tutti::daemon {

class ServerSockets {
 public:
  // `listen` is called for every new listening socket, `forget` before one is closed.
  struct Observer {
    std::function<void(int listener, const Route& route)> listen;
    std::function<void(int listener)> forget;
  };

  // `inherited`: listening sockets of the previous program, which Open reuses if their files still exist. `log`
  // outlives it.
  ServerSockets(EventLoop& loop, std::string pipe_directory, std::vector<os::Fd> inherited, LogBudget& log,
                Observer observer)
      : loop_(loop),
        log_(log),
        root_(std::move(pipe_directory)),
        inherited_(std::move(inherited)),
        observer_(std::move(observer)) {}
  ~ServerSockets();

  // Creates the directory and its socket; for kDefaultNamespace also the server's FIFO. Replaces what a killed daemon
  // has left.
  Status Open(const Route& route);
  // Removes the socket and, if it is empty, the directory; not a claim's, which containers may have mounted.
  void Close(const Route& route);
  // All of the server's.
  void CloseServer(const std::string& server);

  // Recreates sockets that have been removed or replaced.
  Status PutBack();

  // Closes inherited sockets that have not been reused.
  void ForgetInherited();
  // All listening sockets, for the next program.
  std::vector<int> Listeners() const;
  // The route of a listening socket's path; nothing if it is none of these.
  std::optional<Route> RouteOf(const std::string& socket_path) const;

  // What a client sets CUDA_MPS_PIPE_DIRECTORY to.
  std::string Directory(const Route& route) const;

 private:
  // What lies in one directory.
  struct PipeDirectory {
    Route route;
    os::StrangersFd listener;
    os::FileId file;  // of the listener
    os::Fd fifo;
    std::unique_ptr<LogFifo> log;
  };
  void Remove(PipeDirectory& pipe);

  EventLoop& loop_;
  LogBudget& log_;
  std::string root_;
  std::vector<os::Fd> inherited_;
  Observer observer_;
  std::map<std::string, PipeDirectory> directories_;  // by directory
};

// False for names of the pipe directory's own files.
bool MayNameServer(const std::string& name);

}  // namespace tutti::daemon
