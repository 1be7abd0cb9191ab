// For tests: a real tutti-server, on the null device unless they name another, with this process in the daemon's place.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ipc/client_connection.h"
#include "ipc/message.h"
#include "os/fd.h"
#include "wire/server_messages.h"

namespace tutti::server::testing {

// The path of a program of the same build: "bin/tutti-server".
std::string ProgramOfThisBuild(const std::string& name);

class ServerProcess {
 public:
  // Starts it and waits until it is ready. Ends the test program if it cannot.
  // `open_files`: its limit on them, if not 0.
  explicit ServerProcess(std::vector<std::string> more_arguments = {}, int open_files = 0);
  // Ends it (SIGKILL if it has not ended by itself) and reaps it.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  const wire::ServerReady& ready() const { return ready_; }
  int socket() const { return socket_.get(); }

  // A pair of sockets: the first for the client, the second for PassOn once the client has sent its Hello.
  static std::pair<os::Fd, os::Fd> ConnectionPair();
  // Reads the Hello on `connection` and hands it to the server, as the daemon does.
  void PassOn(os::Fd connection, uint32_t pid, double percentage = 100);
  void PassOn(os::Fd connection, uint32_t pid, wire::Attach attach);  // Hello and pid are filled in, and uid if it is 0
  // A client in this process.
  Result<std::unique_ptr<ipc::ClientConnection>> ConnectHere(uint32_t pid, double percentage = 100);
  Result<std::unique_ptr<ipc::ClientConnection>> ConnectHere(uint32_t pid, const wire::Attach& attach);

  wire::ServerReply Ask(wire::MessageKind kind, ByteWriter body);
  std::vector<wire::ClientStatus> Clients();
  // Waits until the server has `count` clients; false after ten seconds.
  bool AwaitClientCount(size_t count);
  // What the server has open and mapped now.
  size_t OpenFiles() const;
  // ... when it is idle: while it handles a message of the daemon it has one less (its reserve).
  size_t OpenFilesAtRest() const;
  // The lowest number that no file has when it is idle, its reserve below that: as a limit it leaves only the reserve.
  size_t FirstFreeFile();
  size_t Mappings() const;  // of clients' windows, channels and completions
  size_t Threads() const;
  size_t ResidentBytes() const;
  size_t Sleeps() const;  // of all its threads, since they started
  // Waits for its end by itself; -1 if it has not ended in ten seconds.
  int AwaitExit();

 private:
  os::Fd socket_;
  pid_t pid_ = 0;
  bool reaped_ = false;
  uint32_t next_serial_ = 1;
  wire::ServerReady ready_;
};

// A client process (server/testing/client_main.cc) on `connection`, doing `mode`.
pid_t StartClient(const os::Fd& connection, const std::string& mode, int rounds);
// Its exit status as waitpid gives it.
int AwaitClient(pid_t pid);

}  // namespace tutti::server::testing
