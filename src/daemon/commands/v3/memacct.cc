// Memory accounting. NVIDIA reads the limits of cgroups from the kernel's dmem controller, which does not know a CPU
// device; here `memacct limit` sets them.
#include <fmt/format.h>

#include "control/object_values.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

constexpr std::string_view kAuditLog = "audit_log";

void Set(const Request& request) {
  if (!RequirePrivilege(request)) return;
  const auto on = control::ParseBoolean(*request.option(kAuditLog));
  if (!on) return request.Refuse(on.error().text);
  request.context().accounting.audit_log = *on;
  request.Done();
}

// Sent to servers at once, since the account may have clients.
void TellServers(const Request& request, const std::string& path, const CollectiveLimits& limits) {
  for (ServerHandle* server : request.context().servers.All()) {
    if (server->state() != ServerState::kActive) continue;
    for (const wire::MemoryGroupLimit& group : GroupsOf("cgroup:" + path, limits, server->devices())) {
      server->Ask(wire::MessageKind::kServerSet,
                  wire::ServerSet{.what = wire::SettingKind::kMemoryGroup,
                                  .device = group.device,
                                  .number = group.hard_bytes,
                                  .second = group.soft_bytes,
                                  .text = group.name},
                  [](const auto&) {});
    }
  }
}

Result<CollectiveLimits> ReadLimits(const Request& request, CollectiveLimits limits) {
  if (const std::string* soft = request.option("soft-limit")) {
    TUTTI_ASSIGN(limits.soft, control::ParseMemoryLimits(*soft));
  }
  if (const std::string* hard = request.option("hard-limit")) {
    TUTTI_ASSIGN(limits.hard, control::ParseMemoryLimits(*hard));
  }
  if (request.options.empty()) return Fail("nothing to set: give --soft-limit or --hard-limit");
  return limits;
}

void Limit(const Request& request) {
  if (!RequirePrivilege(request)) return;
  const std::string path = request.positional(0);
  if (!path.starts_with('/') || (path.size() > 1 && path.ends_with('/'))) {
    return request.Refuse(
        fmt::format("\"{}\" is not a cgroup: give its path as /proc/PID/cgroup has it, /kubepods/pod1", path));
  }
  auto& cgroups = request.context().accounting.cgroups;
  const auto limits = ReadLimits(request, cgroups[path]);
  if (!limits) return request.Refuse(limits.error().text);
  cgroups[path] = *limits;
  if (request.context().accounting.enabled) TellServers(request, path, *limits);
  if (limits->empty()) cgroups.erase(path);
  request.Done();
}

std::string SizeText(const control::MemoryLimits& limits) {
  const uint64_t bytes = limits.Of(0, "GPU-");
  return bytes == control::kNoMemoryLimit ? (limits.empty() ? "-" : "by device") : control::FormatMemory(bytes);
}

void Describe(const Request& request) {
  const MemoryAccounting& accounting = request.context().accounting;
  control::TextTable table{.columns = {"SETTING", "VALUE", "SOFT-LIMIT", "HARD-LIMIT"}};
  table.rows.push_back({"audit_log", accounting.audit_log ? "true" : "false", "-", "-"});
  for (const auto& [path, limits] : accounting.cgroups)
    table.rows.push_back({"cgroup", path, SizeText(limits.soft), SizeText(limits.hard)});
  request.Print(table);
}

}  // namespace

const Module& MemacctModule() {
  static const Verb verbs[] = {
      {"set", "", {{kAuditLog, "true|false", true}}, "audit_log=true writes each client's accounts to the log", Set},
      {"limit",
       "<cgroup>",
       {{"soft-limit", "size"}, {"hard-limit", "size"}},
       "what the cgroup's clients may hold together (ours)",
       Limit},
      {"describe", "", {{"format", "table|csv|json"}}, "the settings", Describe},
  };
  static const Module module{"memacct", "memory accounting by cgroup", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
