// The environment of command handlers: the daemon's parts, and the operations that only the daemon as a whole can
// perform. One for all calls; it outlives them. Daemon thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log_budget.h"
#include "daemon/access/access_policy.h"
#include "daemon/access/claim.h"
#include "daemon/access/memory_accounting.h"
#include "daemon/control/claim_registry.h"
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
  ClaimRegistry& claim_registry;
  MemoryAccounting& accounting;
  Defaults& defaults;
  LogBudget& log;

  std::function<void(std::optional<uint32_t> timeout_s, Shutdown::Done done)> quit;
  // Reopens all logs after their files were renamed.
  std::function<void()> open_logs_anew;
  // Continues as the newly installed program, as soon as no operation is in progress (handover.h).
  std::function<void()> go_on_as_installed;
  // Removes a server of protocol 3 from the catalog, with its sockets and SM partitions. The caller ends its process.
  std::function<void(const std::string& name)> remove_server;
};

}  // namespace tutti::daemon
