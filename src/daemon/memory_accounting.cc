#include "daemon/memory_accounting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "control/client_table.h"
#include "os/fd.h"

namespace tutti::daemon {
namespace {

// In a list with commas.
bool Names(std::string_view list, std::string_view name) {
  for (size_t at = list.find(name); at != list.npos; at = list.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || list[at - 1] == ',') && (end == list.size() || list[end] == ',')) return true;
  }
  return false;
}

std::string Size(uint64_t bytes) { return bytes == control::kNoMemoryLimit ? "none" : control::FormatMemory(bytes); }

}  // namespace

std::vector<wire::MemoryGroupLimit> GroupsOf(const std::string& name, const CollectiveLimits& limits,
                                             const std::vector<wire::ServedDevice>& devices) {
  std::vector<wire::MemoryGroupLimit> groups;
  for (uint32_t device = 0; device < devices.size() && !limits.empty(); ++device) {
    const std::string uuid = control::FormatUuid(devices[device].uuid);
    groups.push_back({.name = name, .device = device, .soft_bytes = limits.soft.Of(device, uuid), .hard_bytes = limits.hard.Of(device, uuid)});
  }
  return groups;
}

void AddCgroupAccounts(const MemoryAccounting& accounting, const std::vector<wire::ServedDevice>& devices, const std::string& cgroup,
                       LogBudget& log, wire::Attach& attach) {
  if (!accounting.enabled || (accounting.cgroups.empty() && !accounting.container_scope && !accounting.audit_log)) return;
  // A limit on a cgroup holds for those below it as well.
  for (const auto& [limited, limits] : accounting.cgroups) {
    if (cgroup != limited && !cgroup.starts_with(limited == "/" ? limited : limited + "/")) continue;
    std::ranges::copy(GroupsOf("cgroup:" + limited, limits, devices), std::back_inserter(attach.memory_groups));
  }
  // The root is everybody's: sharing a limit there would join strangers.
  if (accounting.container_scope && cgroup.size() > 1) {
    for (const wire::MemoryLimit& limit : attach.memory_limits) {
      attach.memory_groups.push_back({.name = "container:" + cgroup, .device = limit.device, .hard_bytes = limit.bytes});
    }
  }
  if (!accounting.audit_log) return;
  const std::string payer = attach.party.empty() ? fmt::format("user {}", attach.uid) : attach.party;
  log.Info(payer, "memacct: client {} of user {} in cgroup {}", attach.pid, attach.uid, cgroup.empty() ? "unknown" : cgroup);
  for (const wire::MemoryGroupLimit& group : attach.memory_groups) {
    log.Info(payer, "memacct: client {} counts for {} on device {}: soft limit {}, hard limit {}", attach.pid, group.name, group.device,
              Size(group.soft_bytes), Size(group.hard_bytes));
  }
}

std::string CgroupOf(uint32_t pid) {
  if (pid == 0) return "";
  const os::Fd file(open(fmt::format("/proc/{}/cgroup", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  constexpr size_t kPiece = 4096;
  std::string text;
  // The kernel writes such a file in one go: a piece that is not full is the last.
  for (ssize_t got = kPiece; got == static_cast<ssize_t>(kPiece);) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    got = read(file.get(), text.data() + before, kPiece);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  return ReadCgroup(text);
}

std::string ReadCgroup(std::string_view proc_cgroup) {
  std::string_view unified, memory;
  while (!proc_cgroup.empty()) {
    const std::string_view line = proc_cgroup.substr(0, proc_cgroup.find('\n'));
    proc_cgroup.remove_prefix(std::min(line.size() + 1, proc_cgroup.size()));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) unified = path;
    if (Names(controllers, "memory")) memory = path;
  }
  return std::string(memory.empty() ? unified : memory);
}

}  // namespace tutti::daemon
