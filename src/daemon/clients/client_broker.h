// Assigns clients to servers. It hands a client to its user's server, or to the one whose socket the client connected
// to; if that server is still starting, the client waits (waiting_room.h). Refusals carry a CUresult and a line that
// says why. Daemon thread only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log_budget.h"
#include "daemon/access/claim.h"
#include "daemon/access/memory_accounting.h"
#include "daemon/clients/waiting_room.h"
#include "daemon/partitions/partition_table.h"
#include "daemon/servers/server_catalog.h"
#include "daemon/servers/server_table.h"
#include "wire/messages.h"

namespace tutti::daemon {

class ClientBroker {
 public:
  struct Needs {
    ServerTable& servers;
    ServerCatalog& catalog;
    PartitionTable& partitions;
    const ClaimTable& claims;
    const MemoryAccounting& accounting;
    LogBudget& log;
    std::string claims_directory;
    std::function<void()> partition_taken;  // by a client, which is noted with it
  };
  // `static_partitioning`: every client needs an SM partition.
  ClientBroker(const Needs& needs, bool static_partitioning);

  void Arrived(WaitingClient client);
  void ServerReady(ServerHandle& server);
  void ServerFailed(const std::string& name, const std::string& why);

  // Refuses every client from now on, waiting ones included.
  void Close();
  // Refuses the waiting clients of the claim.
  void ClaimTakenBack(const std::string& claim);
  // The clients that wait for a server.
  const WaitingRoom& waiting() const { return waiting_; }

 private:
  void Refuse(const WaitingClient& client, int status, const std::string& why);
  bool LeavesTooManyUntaken(const ServerHandle& server) const;
  void HandOver(ServerHandle& server, WaitingClient client);
  Status CheckClaim(const WaitingClient& client) const;
  bool MayChooseClaim(const WaitingClient& client) const;
  void GivePartition(wire::Attach& attach, const ServerHandle& server, const WaitingClient& client);

  ServerTable& servers_;
  ServerCatalog& catalog_;
  PartitionTable& partitions_;
  const ClaimTable& claims_;
  const MemoryAccounting& accounting_;
  LogBudget& log_;
  const std::string claims_directory_;
  const std::function<void()> partition_taken_;
  bool static_partitioning_;
  size_t max_waiting_;  // for servers to start, and for one server that accepts none
  bool closed_ = false;
  WaitingRoom waiting_;
};

}  // namespace tutti::daemon
