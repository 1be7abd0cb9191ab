// The control daemon: accepts connections, knows who is on them, and wires brokers, servers and commands together. Daemon
// thread only.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "control/places.h"
#include "daemon/client_broker.h"
#include "daemon/command.h"
#include "daemon/device_inventory.h"
#include "daemon/event_loop.h"
#include "daemon/handover.h"
#include "daemon/instance.h"
#include "daemon/log_fifo.h"
#include "daemon/partition_table.h"
#include "daemon/server_catalog.h"
#include "daemon/server_settings.h"
#include "daemon/server_sockets.h"
#include "daemon/server_table.h"
#include "daemon/service_manager.h"
#include "daemon/shutdown.h"

namespace tutti::daemon {

class Session;

struct DaemonOptions {
  control::Places places;
  bool multi_user = false;           // all users share one server of the daemon's user
  int protocol = 2;                  // of the control commands
  bool static_partitioning = false;  // -S: every client needs an SM partition
  bool new_clients_only = false;     // limits that are set do not touch running clients, as with NVIDIA's daemon
  std::string policy = "share";
  std::string configuration;  // protocol 3: TOML file to apply once at the start; "": none
};

class ControlDaemon {
 public:
  ControlDaemon(std::unique_ptr<EventLoop> loop, Instance instance, DaemonOptions options);
  ~ControlDaemon();

  // Serves until `quit` or a signal that ends it. The exit status of the program.
  int Run();

  // Goes on with the servers and settings of the program before. Before Run.
  void TakeOver(Succession succession);

  // For commands.
  EventLoop& loop() { return *loop_; }
  ServerTable& servers() { return servers_; }
  ServerCatalog& catalog() { return catalog_; }
  ServerSockets& sockets() { return sockets_; }
  DeviceInventory& inventory() { return inventory_; }
  PartitionTable& partitions() { return partitions_; }
  MemoryAccounting& accounting() { return accounting_; }
  ClientBroker& broker() { return broker_; }
  Defaults& defaults() { return defaults_; }
  const DaemonOptions& options() const { return options_; }
  void Quit(std::optional<uint32_t> timeout_s, Shutdown::Done done);

  // Takes a server of protocol 3 out of the catalog, with its sockets and SM partitions; its process is the caller's affair.
  void RemoveServer(const std::string& name);

  // Root and the daemon's own user may do everything; others what concerns their own server and clients.
  bool Privileged(uid_t uid) const;
  bool MayControl(uid_t uid, const ServerHandle& server) const { return Privileged(uid) || server.uid() == uid; }
  // In multi-user mode everybody sees the one server, and of its clients their own.
  bool MaySee(uid_t uid, const ServerHandle& server) const { return MayControl(uid, server) || options_.multi_user; }
  bool MaySeeClient(uid_t uid, uint32_t client_uid) const { return Privileged(uid) || client_uid == uid; }
  // The servers that the user may see.
  std::vector<ServerHandle*> ServersOf(uid_t uid);

 private:
  friend class Session;
  struct Listening {
    WatchId watch = 0;
    Route route;
  };
  void Accept(int listener);
  void Listen(int listener, const Route& route);
  void Forget(int listener);
  void Remove(uint64_t session);
  void Signal();
  Status MakePlaceFor(const NamedServer& server);
  void ServerReady(ServerHandle& server);
  void MakePartitions(const ServerHandle& server);
  bool Quiet() const;
  Leaving Leave();

  std::unique_ptr<EventLoop> loop_;
  Instance instance_;
  DaemonOptions options_;
  Defaults defaults_;
  ServerTable servers_;
  ServerCatalog catalog_;
  DeviceInventory inventory_;
  PartitionTable partitions_;
  MemoryAccounting accounting_;
  ClientBroker broker_;
  Shutdown shutdown_;
  std::unordered_map<int, Listening> listening_;
  ServerSockets sockets_;
  LogFifo log_fifo_;
  os::Fd signals_;
  ServiceManager manager_;
  Handover handover_;
  std::unordered_map<uint64_t, std::shared_ptr<Session>> sessions_;
  uint64_t next_session_ = 1;
  int exit_status_ = 0;
};

}  // namespace tutti::daemon
