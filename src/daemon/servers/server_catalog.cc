#include "daemon/servers/server_catalog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "control/words.h"
#include "cuda/result.h"

namespace tutti::daemon {

std::string FullName(const std::string& server, const std::string& name_space) { return server + "/" + name_space; }

std::string NamespaceOf(const std::string& full_name) { return full_name.substr(full_name.rfind('/') + 1); }

uid_t ServerCatalog::ServingUser(uid_t client) const { return multi_user_ ? geteuid() : client; }

Result<ServerPlan> ServerCatalog::PlanFor(const Route& route, uid_t client) {
  if (route.server.empty()) {
    const ServerPlan plan = PlanOfUser(ServingUser(client));
    if (!added_) return plan;
    if (const NamedServer* known = Find(plan.name)) return known->plan;
    TUTTI_ASSIGN(const NamedServer* added, Create(plan.name, plan.uid, ""));
    return added->plan;
  }
  const NamedServer* const server = Find(route.server);
  if (server == nullptr || !server->namespaces.contains(route.name_space)) {
    return Fail(cuda::CUDA_ERROR_MPS_SERVER_NOT_READY,
                fmt::format("server {} has no namespace {} any more", route.server, route.name_space));
  }
  if (server->plan.uid != ServingUser(client) && client != 0) {
    return Fail(
        cuda::CUDA_ERROR_MPS_SERVER_NOT_READY,
        fmt::format("server {} belongs to user {}, not to user {}: use one of your own, or a daemon with --multiuser",
                    route.server, server->plan.uid, client));
  }
  return server->plan;
}

bool ServerCatalog::WouldAdd(const Route& route, uid_t client) const {
  return added_ && route.server.empty() && Find(PlanOfUser(ServingUser(client)).name) == nullptr;
}

const NamespaceLimits* ServerCatalog::LimitsOf(const std::string& server, const std::string& name_space) const {
  const NamedServer* const found = Find(server);
  if (found == nullptr) return nullptr;
  const auto limits = found->namespaces.find(name_space);
  return limits == found->namespaces.end() ? nullptr : &limits->second;
}

ServerSettings ServerCatalog::SettingsFor(const std::string& server, const std::string& name_space,
                                          const ServerSettings& running) const {
  const NamespaceLimits* const limits = LimitsOf(server, name_space);
  if (limits == nullptr) return running;
  ServerSettings settings = defaults_.server;
  settings.overrides_process = limits->active_thread_percentage.has_value();
  if (limits->active_thread_percentage) settings.active_thread_percentage = *limits->active_thread_percentage;
  if (!limits->memory_limits.empty()) settings.memory_limits = limits->memory_limits;
  return settings;
}

int ServerCatalog::PriorityFor(const std::string& server, const std::string& name_space) const {
  const NamespaceLimits* const limits = LimitsOf(server, name_space);
  return limits != nullptr && limits->client_priority ? *limits->client_priority : defaults_.client_priority;
}

control::MemorySharing ServerCatalog::SharingFor(const std::string& server, const std::string& name_space) const {
  const NamespaceLimits* const limits = LimitsOf(server, name_space);
  return limits != nullptr && limits->memory_sharing ? *limits->memory_sharing : defaults_.memory_sharing;
}

CollectiveLimits ServerCatalog::CollectiveFor(const std::string& server, const std::string& name_space) const {
  const NamespaceLimits* const limits = LimitsOf(server, name_space);
  return limits == nullptr ? CollectiveLimits() : limits->collective;
}

Result<NamedServer*> ServerCatalog::Create(const std::string& name, uid_t uid, const std::string& allowed_devices) {
  // The owner of another user's "uid_..." would get that user's clients.
  if (name.starts_with("uid_") && name != PlanOfUser(uid).name) {
    return Fail(fmt::format(
        "server name \"{}\" is reserved for the user with that id: choose one that does not begin with uid_", name));
  }
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  TUTTI_ASSIGN(std::string devices, VisibleDevices(allowed_devices, visible != nullptr ? visible : ""));
  NamedServer server{.plan = {.name = name,
                              .uid = uid,
                              .visible_devices = std::move(devices),
                              .log_file = places_.log_directory + "/" + name + "/server.log"},
                     .allowed_devices = allowed_devices};
  server.namespaces[kDefaultNamespace];
  const auto [added, is_new] = servers_.try_emplace(name, std::move(server));
  if (!is_new)
    return Fail(
        fmt::format("server {} exists already: choose another name, or change it with `server set {}`", name, name));
  if (!added_) return &added->second;
  if (const auto made = added_(added->second); !made) {
    servers_.erase(added);
    return std::unexpected(made.error());
  }
  return &added->second;
}

NamedServer* ServerCatalog::Find(const std::string& name) {
  const auto found = servers_.find(name);
  return found == servers_.end() ? nullptr : &found->second;
}

std::vector<NamedServer*> ServerCatalog::All() {
  std::vector<NamedServer*> all;
  for (auto& [name, server] : servers_) all.push_back(&server);
  return all;
}

Result<std::string> VisibleDevices(const std::string& allowed, const std::string& visible) {
  const auto mine = control::SplitList(visible);
  std::string text;
  for (const std::string& device : control::SplitList(allowed)) {
    if (!control::IsDeviceIdentifier(device)) {
      return Fail(
          fmt::format("device \"{}\" is neither an ordinal nor a UUID: give 0, 1, ... or GPU-1234abcd", device));
    }
    std::string named = device;
    if (const auto ordinal = control::ParseNumber(device); ordinal && !mine.empty()) {
      if (*ordinal >= mine.size()) {
        return Fail(fmt::format("device {} does not exist: this daemon has {} (its CUDA_VISIBLE_DEVICES is {})", device,
                                mine.size(), visible));
      }
      named = mine[*ordinal];
    }
    text += (text.empty() ? "" : ",") + named;
  }
  return text;
}

}  // namespace tutti::daemon
