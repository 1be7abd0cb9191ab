// What commands work on: the parts of the daemon, and what only the whole of it can do. One for all calls; it outlives
// them. Daemon thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log_budget.h"
#include "daemon/access/access_policy.h"
#include "daemon/access/claim.h"
#include "daemon/access/memory_accounting.h"
#include "daemon/control/daemon_options.h"
#include "daemon/life/shutdown.h"
#include "daemon/loop/event_loop.h"
#include "daemon/partitions/partition_table.h"
#include "daemon/servers/device_inventory.h"
#include "daemon/servers/server_catalog.h"
#include "daemon/servers/server_settings.h"
#include "daemon/servers/server_sockets.h"
#include "daemon/servers/server_table.h"

namespace tutti::daemon {

struct CommandContext {
  const DaemonOptions& options;
  AccessPolicy access;
  EventLoop& loop;
  ServerTable& servers;
  ServerCatalog& catalog;
  ServerSockets& sockets;
  DeviceInventory& inventory;
  PartitionTable& partitions;
  ClaimTable& claims;
  MemoryAccounting& accounting;
  Defaults& defaults;
  LogBudget& log;

  std::function<void(std::optional<uint32_t> timeout_s, Shutdown::Done done)> quit;
  // After their files were renamed: all logs go on in new ones.
  std::function<void()> open_logs_anew;
  // As the program that is installed now, as soon as nobody is in the middle of something.
  std::function<void()> go_on_as_installed;
  // Makes the claim, or changes what it says; its directory. Whether its devices are there is for the caller to know.
  std::function<Result<std::string>(const Claim& claim)> add_claim;
  // Who came by the claim and has not been served yet is refused, its sockets and its directory go.
  std::function<void(const std::string& name)> remove_claim;
  // Takes a server of protocol 3 out of the catalog, with its sockets and SM partitions; its process is the caller's
  // affair.
  std::function<void(const std::string& name)> remove_server;
};

}  // namespace tutti::daemon
