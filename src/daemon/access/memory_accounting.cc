#include "daemon/access/memory_accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "control/client_table.h"
#include "os/proc_text.h"

namespace tutti::daemon {
namespace {

std::string Size(uint64_t bytes) { return bytes == control::kNoMemoryLimit ? "none" : control::FormatMemory(bytes); }

std::vector<wire::MemoryGroupLimit> LowestLimits(const MemoryAccounting& accounting, const std::string& name,
                                                 const std::vector<wire::ServedDevice>& devices) {
  std::vector<wire::MemoryGroupLimit> lowest;
  for (const auto& [limited, limits] : accounting.cgroups) {
    const auto groups = GroupsOf(name, limits, devices);
    if (lowest.empty()) lowest = groups;
    for (size_t i = 0; i < std::min(groups.size(), lowest.size()); ++i) {
      lowest[i].soft_bytes = std::min(lowest[i].soft_bytes, groups[i].soft_bytes);
      lowest[i].hard_bytes = std::min(lowest[i].hard_bytes, groups[i].hard_bytes);
    }
  }
  return lowest;
}

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
  if (!accounting.needs_cgroups()) return;
  const std::string payer = attach.party.empty() ? fmt::format("user {}", attach.uid) : attach.party;
  const std::string group = cgroup.empty() ? "unknown of " + payer : cgroup;
  if (cgroup.empty() && !accounting.cgroups.empty())
    std::ranges::copy(LowestLimits(accounting, "cgroup:" + group, devices), std::back_inserter(attach.memory_groups));
  // A limit on a cgroup applies to its descendants as well.
  for (const auto& [limited, limits] : accounting.cgroups) {
    if (cgroup != limited && !cgroup.starts_with(limited == "/" ? limited : limited + "/")) continue;
    std::ranges::copy(GroupsOf("cgroup:" + limited, limits, devices), std::back_inserter(attach.memory_groups));
  }
  // The root cgroup is shared by unrelated processes, so it has no common limit.
  if (accounting.container_scope && cgroup != "/") {
    for (const wire::MemoryLimit& limit : attach.memory_limits) {
      attach.memory_groups.push_back({.name = "container:" + group, .device = limit.device, .hard_bytes = limit.bytes});
    }
  }
  if (!accounting.audit_log) return;
  log.Info(payer, "memacct: client {} of user {} in cgroup {}", attach.pid, attach.uid,
           cgroup.empty() ? "unknown" : cgroup);
  for (const wire::MemoryGroupLimit& limit : attach.memory_groups) {
    log.Info(payer, "memacct: client {} counts for {} on device {}: soft limit {}, hard limit {}", attach.pid,
             limit.name, limit.device, Size(limit.soft_bytes), Size(limit.hard_bytes));
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
