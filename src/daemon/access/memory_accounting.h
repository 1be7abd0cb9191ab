// Collective memory limits: on the clients of a namespace, and on those of a cgroup (a container). The server keeps the
// accounts (wire::MemoryGroupLimit); this class decides which accounts a client belongs to. Daemon thread only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_budget.h"
#include "control/limits.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// Soft: memory above it is borrowed and reclaimed, by terminating a borrower, when others need it. Hard: never
// exceeded.
struct CollectiveLimits {
  control::MemoryLimits soft;
  control::MemoryLimits hard;

  bool empty() const { return soft.empty() && hard.empty(); }
};

struct MemoryAccounting {
  bool enabled = true;  // limits by cgroup apply
  bool audit_log = false;  // logs each client's accounts when it attaches
  bool container_scope = false;  // all clients of a cgroup share the client's own limit
  std::map<std::string, CollectiveLimits> cgroups;  // by path: "/kubepods/pod1"

  // What a client may have depends on its cgroup.
  bool needs_cgroups() const { return enabled && (!cgroups.empty() || container_scope || audit_log); }
};

// The accounts of `name`, one for each device on which `limits` sets a limit.
std::vector<wire::MemoryGroupLimit> GroupsOf(const std::string& name, const CollectiveLimits& limits,
                                             const std::vector<wire::ServedDevice>& devices);

// Adds the accounts of the client's cgroup to `attach`, whose pid, uid, party and memory_limits are set. If the cgroup
// is unknown (""), since the process that connected has ended or is not visible, the client is held to the lowest
// limits of any, together with all such clients of its party.
void AddCgroupAccounts(const MemoryAccounting& accounting, const std::vector<wire::ServedDevice>& devices,
                       const std::string& cgroup, LogBudget& log, wire::Attach& attach);

// The process's cgroup: of version 2, else the memory controller's of version 1. "" if the process is not visible.
std::string CgroupOf(uint32_t pid);
std::string ReadCgroup(std::string_view proc_cgroup);

}  // namespace tutti::daemon
