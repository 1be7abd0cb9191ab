#include "daemon/access/memory_accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "control/client_table.h"
#include "os/proc_text.h"

namespace tutti::daemon {
namespace {

std::string Size(uint64_t bytes) { return bytes == control::kNoMemoryLimit ? "none" : control::FormatMemory(bytes); }

}  // namespace

std::vector<wire::MemoryGroupLimit> GroupsOf(const std::string& name, const CollectiveLimits& limits,
                                             const std::vector<wire::ServedDevice>& devices) {
  std::vector<wire::MemoryGroupLimit> groups;
  for (uint32_t device = 0; device < devices.size() && !limits.empty(); ++device) {
    const std::string uuid = control::FormatUuid(devices[device].uuid);
    groups.push_back({.name = name,
                      .device = device,
                      .soft_bytes = limits.soft.Of(device, uuid),
                      .hard_bytes = limits.hard.Of(device, uuid)});
  }
  return groups;
}

void AddCgroupAccounts(const MemoryAccounting& accounting, const std::vector<wire::ServedDevice>& devices,
                       const std::string& cgroup, LogBudget& log, wire::Attach& attach) {
  if (!accounting.enabled || (accounting.cgroups.empty() && !accounting.container_scope && !accounting.audit_log))
    return;
  // A limit on a cgroup applies to its descendants as well.
  for (const auto& [limited, limits] : accounting.cgroups) {
    if (cgroup != limited && !cgroup.starts_with(limited == "/" ? limited : limited + "/")) continue;
    std::ranges::copy(GroupsOf("cgroup:" + limited, limits, devices), std::back_inserter(attach.memory_groups));
  }
  // The root cgroup is shared by unrelated processes, so it has no common limit.
  if (accounting.container_scope && cgroup.size() > 1) {
    for (const wire::MemoryLimit& limit : attach.memory_limits) {
      attach.memory_groups.push_back(
          {.name = "container:" + cgroup, .device = limit.device, .hard_bytes = limit.bytes});
    }
  }
  if (!accounting.audit_log) return;
  const std::string payer = attach.party.empty() ? fmt::format("user {}", attach.uid) : attach.party;
  log.Info(payer, "memacct: client {} of user {} in cgroup {}", attach.pid, attach.uid,
           cgroup.empty() ? "unknown" : cgroup);
  for (const wire::MemoryGroupLimit& group : attach.memory_groups) {
    log.Info(payer, "memacct: client {} counts for {} on device {}: soft limit {}, hard limit {}", attach.pid,
             group.name, group.device, Size(group.soft_bytes), Size(group.hard_bytes));
  }
}

std::string CgroupOf(uint32_t pid) {
  if (pid == 0) return "";
  return ReadCgroup(os::TextOf(fmt::format("/proc/{}/cgroup", pid)));
}

std::string ReadCgroup(std::string_view proc_cgroup) {
  std::string_view unified, memory;
  for (const os::CgroupLine& line : os::CgroupLines(proc_cgroup)) {
    if (line.controllers.empty()) unified = line.path;
    if (line.Names("memory")) memory = line.path;
  }
  return std::string(memory.empty() ? unified : memory);
}

}  // namespace tutti::daemon
