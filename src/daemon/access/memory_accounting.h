// Limits on what several clients hold together: the clients of a namespace, and those of a cgroup (a container). The
// server keeps the accounts (wire::MemoryGroupLimit); here is which accounts a client belongs to. Daemon thread only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_budget.h"
#include "control/limits.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

// Soft: what is held above it is borrowed, and given back (by ending a borrower) when others need it. Hard: never
// above.
struct CollectiveLimits {
  control::MemoryLimits soft;
  control::MemoryLimits hard;

  bool empty() const { return soft.empty() && hard.empty(); }
};

struct MemoryAccounting {
  bool enabled = true;           // limits by cgroup hold
  bool audit_log = false;        // each client's accounts are written to the log when it attaches
  bool container_scope = false;  // a client's own limit is shared by all clients of its cgroup
  std::map<std::string, CollectiveLimits> cgroups;  // by path: "/kubepods/pod1"
};

// The account of `name` on each of the devices that `limits` limits there.
std::vector<wire::MemoryGroupLimit> GroupsOf(const std::string& name, const CollectiveLimits& limits,
                                             const std::vector<wire::ServedDevice>& devices);

// Adds the accounts of the client's cgroup, "" if it is unknown, to `attach`, whose pid, party and memory_limits are
// set.
void AddCgroupAccounts(const MemoryAccounting& accounting, const std::vector<wire::ServedDevice>& devices,
                       const std::string& cgroup, LogBudget& log, wire::Attach& attach);

// The process's cgroup: of version 2, else the memory controller's of version 1. "" if the process is not to be seen
// from here.
std::string CgroupOf(uint32_t pid);
std::string ReadCgroup(std::string_view proc_cgroup);

}  // namespace tutti::daemon
