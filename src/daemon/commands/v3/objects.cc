#include "daemon/commands/v3/objects.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "control/client_table.h"
#include "control/object_values.h"
#include "daemon/commands/access.h"

namespace tutti::daemon::v3 {
namespace {

bool MaySee(const Request& request, const NamedServer& server) {
  return request.context().access.MaySeeServerOf(request.call.caller, server.plan.uid);
}

// Whether these limits are allowed for a caller who may only lower limits. Limits may name devices by ordinal and by
// UUID, so they are compared per device.
Status Allowed(const Request& request, const NamedServer& server, const NamespaceLimits& limits) {
  if (request.call.caller.administrator) return {};
  const ServerSettings& standard = request.context().defaults.server;
  if (limits.active_thread_percentage && *limits.active_thread_percentage > standard.active_thread_percentage) {
    return Fail(fmt::format("Permission denied: user {} cannot go above the default of {}", request.uid(),
                            control::FormatPercentage(standard.active_thread_percentage)));
  }
  const control::MemorySharing widest = request.context().defaults.memory_sharing;
  if (limits.memory_sharing && *limits.memory_sharing > widest) {
    return Fail(fmt::format("Permission denied: user {} cannot share memory more widely than the default, {}",
                            request.uid(), control::MemorySharingName(widest)));
  }
  if (standard.memory_limits.empty() || limits.memory_limits.empty()) return {};
  const ServerHandle* const process = ProcessOf(request, server);
  if (process == nullptr || process->state() != ServerState::kActive) {
    return Fail(
        fmt::format("server {} must be ready for a memory limit to be compared with the default: see server list",
                    server.plan.name));
  }
  for (uint32_t ordinal = 0; ordinal < process->devices().size(); ++ordinal) {
    const std::string uuid = control::FormatUuid(process->devices()[ordinal].uuid);
    if (limits.memory_limits.Of(ordinal, uuid) <= standard.memory_limits.Of(ordinal, uuid)) continue;
    return Fail(fmt::format("Permission denied: user {} cannot go above the default of {} on device {}", request.uid(),
                            control::FormatMemory(standard.memory_limits.Of(ordinal, uuid)), ordinal));
  }
  return {};
}

}  // namespace

NamedServer* FindServer(const Request& request, const std::string& name) {
  NamedServer* const server = request.context().catalog.Find(name);
  if (server != nullptr && MaySee(request, *server)) return server;
  std::vector<std::string> known;
  for (const NamedServer* one : VisibleServers(request)) known.push_back(one->plan.name);
  const std::string nearest = Nearest(name, known);
  request.Refuse(fmt::format("there is no server \"{}\"{}", name,
                             nearest.empty() ? ": see server list" : ": did you mean " + nearest + "?"));
  return nullptr;
}

NamedServer* FindOwnServer(const Request& request, const std::string& name) {
  NamedServer* const server = FindServer(request, name);
  if (server == nullptr || request.context().access.MayChangeServerOf(request.call.caller, server->plan.uid))
    return server;
  const bool own = server->plan.uid == request.call.caller.served_as;
  request.Refuse(
      own ? fmt::format("Permission denied: server {} is shared with what runs outside of this container", name)
          : fmt::format("Permission denied: server {} belongs to user {}", name, server->plan.uid));
  return nullptr;
}

std::vector<NamedServer*> VisibleServers(const Request& request) {
  auto servers = request.context().catalog.All();
  std::erase_if(servers, [&](const NamedServer* server) { return !MaySee(request, *server); });
  return servers;
}

bool RequirePrivilege(const Request& request) {
  if (request.call.caller.administrator) return true;
  request.Refuse(fmt::format("Permission denied: {} {} is for root", request.call.word(0), request.call.word(1)));
  return false;
}

ServerHandle* ProcessOf(const Request& request, const NamedServer& server) {
  return request.context().servers.Current(server.plan.name);
}

std::string StatusWord(const Request& request, const NamedServer& server) {
  const ServerHandle* const process = ProcessOf(request, server);
  if (process == nullptr) return "Stopped";
  switch (process->state()) {
    case ServerState::kInitializing: return "Initializing";
    case ServerState::kActive: return "Ready";
    case ServerState::kFault: return "Fault";
  }
  return "Fault";
}

Changed ChangedBy(const Request& request) {
  const bool collective = request.flag("collective-hard-limit") || request.flag("collective-soft-limit");
  return {.percentage = request.flag("active-thread-percentage"),
          .memory = request.flag("pinned-memory-limit") || collective,
          .priority = request.flag("client-priority")};
}

Result<NamespaceLimits> ChangedLimits(const Request& request, const NamedServer& server, NamespaceLimits limits) {
  bool given = false;
  if (const std::string* text = request.option("pinned-memory-limit")) {
    TUTTI_ASSIGN(limits.memory_limits, control::ParseMemoryLimits(*text));
    limits.memory_text = *text == "none" ? "" : *text;
    given = true;
  }
  if (const std::string* text = request.option("active-thread-percentage")) {
    TUTTI_ASSIGN(limits.active_thread_percentage, control::ParsePercentage(*text));
    given = true;
  }
  if (const std::string* text = request.option("client-priority")) {
    TUTTI_ASSIGN(limits.client_priority, control::ParsePriority(*text));
    given = true;
  }
  if (const std::string* text = request.option("memory-sharing")) {
    TUTTI_ASSIGN(limits.memory_sharing, control::ParseMemorySharing(*text));
    given = true;
  }
  if (const std::string* text = request.option("collective-hard-limit")) {
    TUTTI_ASSIGN(limits.collective.hard, control::ParseMemoryLimits(*text));
    given = true;
  }
  if (const std::string* text = request.option("collective-soft-limit")) {
    TUTTI_ASSIGN(limits.collective.soft, control::ParseMemoryLimits(*text));
    given = true;
  }
  if (!given)
    return Fail(
        "nothing to set: give --pinned-memory-limit, --active-thread-percentage, --client-priority or "
        "--memory-sharing");
  TUTTI_TRY(Allowed(request, server, limits));
  return limits;
}

std::string MemoryText(const NamespaceLimits& limits) { return limits.memory_text.empty() ? "-" : limits.memory_text; }
std::string PercentageText(const NamespaceLimits& limits) {
  return limits.active_thread_percentage ? control::FormatPercentage(*limits.active_thread_percentage) : "-";
}
std::string PriorityText(const NamespaceLimits& limits) {
  return limits.client_priority ? std::to_string(*limits.client_priority) : "-";
}

std::string SharingText(const NamespaceLimits& limits) {
  return limits.memory_sharing ? std::string(control::MemorySharingName(*limits.memory_sharing)) : "-";
}

void WithClientsOf(const Request& request, const NamedServer& server,
                   std::function<void(const std::vector<wire::ClientStatus>&)> found) {
  ServerHandle* const process = ProcessOf(request, server);
  if (process == nullptr) return found({});
  commands::QueryClients(request.call, {process},
                         [found = std::move(found)](const std::vector<commands::ServerClients>& servers) {
                           found(servers.front().clients);
                         });
}

}  // namespace tutti::daemon::v3
