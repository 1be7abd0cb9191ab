// The control daemon: accepts connections, knows who is on them, and wires brokers, servers and commands together. Daemon
// thread only.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "control/places.h"
#include "daemon/client_broker.h"
#include "daemon/command.h"
#include "daemon/event_loop.h"
#include "daemon/instance.h"
#include "daemon/log_fifo.h"
#include "daemon/server_settings.h"
#include "daemon/server_table.h"
#include "daemon/shutdown.h"

namespace tutti::daemon {

class Session;

struct DaemonOptions {
  control::Places places;
  bool multi_user = false;  // all users share one server of the daemon's user
};

class ControlDaemon {
 public:
  ControlDaemon(std::unique_ptr<EventLoop> loop, Instance instance, DaemonOptions options);
  ~ControlDaemon();

  // Serves until `quit` or a signal that ends it. The exit status of the program.
  int Run();

  // For commands.
  EventLoop& loop() { return *loop_; }
  ServerTable& servers() { return servers_; }
  Defaults& defaults() { return defaults_; }
  const DaemonOptions& options() const { return options_; }
  void Quit(std::optional<uint32_t> timeout_s, Shutdown::Done done);

  // Root and the daemon's own user may do everything; others what concerns their own server and clients.
  bool Privileged(uid_t uid) const;
  bool MayControl(uid_t uid, const ServerHandle& server) const { return Privileged(uid) || server.uid() == uid; }
  // In multi-user mode everybody sees the one server, and of its clients their own.
  bool MaySee(uid_t uid, const ServerHandle& server) const { return MayControl(uid, server) || options_.multi_user; }
  bool MaySeeClient(uid_t uid, uint32_t client_uid) const { return Privileged(uid) || client_uid == uid; }
  // The servers that the user may see.
  std::vector<ServerHandle*> ServersOf(uid_t uid);
  uid_t ServingUser(uid_t uid) const;

 private:
  friend class Session;
  void Accept(int listener);
  void Listen(int listener);
  void Remove(uint64_t session);
  void Signal();

  std::unique_ptr<EventLoop> loop_;
  Instance instance_;
  DaemonOptions options_;
  Defaults defaults_;
  ServerTable servers_;
  ClientBroker broker_;
  Shutdown shutdown_;
  LogFifo log_fifo_;
  os::Fd signals_;
  std::unordered_map<int, WatchId> listening_;
  std::unordered_map<uint64_t, std::shared_ptr<Session>> sessions_;
  uint64_t next_session_ = 1;
  int exit_status_ = 0;
};

}  // namespace tutti::daemon
