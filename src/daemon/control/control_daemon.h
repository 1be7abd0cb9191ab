// The control daemon: wires sockets, connections, brokers, servers and commands together. Daemon thread only.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "base/log_budget.h"
#include "daemon/clients/client_broker.h"
#include "daemon/control/claim_registry.h"
#include "daemon/control/command_context.h"
#include "daemon/control/connection_table.h"
#include "daemon/files/instance.h"
#include "daemon/files/log_keeper.h"
#include "daemon/life/handover.h"
#include "daemon/life/service_manager.h"
#include "daemon/life/shutdown.h"
#include "daemon/life/state_file.h"
#include "daemon/loop/directory_watch.h"
#include "daemon/loop/event_loop.h"
#include "daemon/loop/log_fifo.h"
#include "daemon/partitions/partition_table.h"
#include "daemon/servers/device_inventory.h"
#include "daemon/servers/server_catalog.h"
#include "daemon/servers/server_settings.h"
#include "daemon/servers/server_sockets.h"
#include "daemon/servers/server_table.h"

namespace tutti::daemon {

class ControlDaemon {
 public:
  ControlDaemon(std::unique_ptr<EventLoop> loop, Instance instance, DaemonOptions options);
  ~ControlDaemon();

  // Serves until `quit` or a signal that ends it. The exit status of the program.
  int Run();

  // Takes over the servers and settings of the previous program. Call before Run.
  void TakeOver(Succession succession);
  // Restores the settings of a daemon that was killed here; Run then adopts its servers, and without it they and the
  // state stay for another daemon. False if there are no settings to restore: then the servers end with their last
  // clients. Before Run.
  bool AdoptAfterDeath();

  // For its commands and its configuration file.
  const CommandContext& context() const { return context_; }

 private:
  struct Listening {
    WatchId watch = 0;
    Route route;
  };
  void Quit(std::optional<uint32_t> timeout_s, Shutdown::Done done);
  void OpenLogsAnew();
  void GoOnAsInstalled();
  void RemoveServer(const std::string& name);
  void Accept(int listener);
  void GoOnWith(Succession::Connection connection, bool understands);
  void Listen(int listener, const Route& route);
  void Forget(int listener);
  void Signal();
  void PutBackFiles();
  std::vector<std::string> Logs() const;
  Status MakePlaceFor(const NamedServer& server);
  void ServerReady(ServerHandle& server);
  void MakePartitions(const ServerHandle& server);
  bool Quiet() const;
  Leaving Leave();
  std::vector<std::string> Settings();
  void Restore(const std::vector<std::string>& settings);
  DaemonState State();
  void RunFor(const Visitor& caller, const Route& route, std::vector<std::string> words, Reply reply);
  void KeepState();

  std::unique_ptr<EventLoop> loop_;
  Instance instance_;
  DaemonOptions options_;
  StateFile state_file_;
  std::vector<ServerRecord> to_adopt_;
  bool owns_state_ = false;   // what there was is taken over
  bool keeps_state_ = false;
  bool keeps_again_ = false;  // soon
  Defaults defaults_;
  LogBudget log_;  // for lines that visitors cause
  ServerTable servers_;
  ServerCatalog catalog_;
  DeviceInventory inventory_;
  PartitionTable partitions_;
  ClaimTable claims_;
  MemoryAccounting accounting_;
  ClientBroker broker_;
  Shutdown shutdown_;
  std::unordered_map<int, Listening> listening_;
  ServerSockets sockets_;
  std::unique_ptr<LogFifo> log_fifo_;
  LogKeeper log_keeper_;
  DirectoryWatch directory_;
  std::string not_put_back_;  // the reason, so that it is logged once
  os::Fd signals_;
  ServiceManager manager_;
  Handover handover_;
  CommandContext context_;
  ConnectionTable connections_;
  ClaimRegistry claim_registry_;
  int exit_status_ = 0;
};

}  // namespace tutti::daemon
