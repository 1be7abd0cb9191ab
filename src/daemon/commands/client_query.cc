#include "daemon/commands/client_query.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <tuple>

#include "control/client_table.h"
#include "control/words.h"
#include "daemon/commands/access.h"

namespace tutti::daemon::commands {
namespace {

// Collects the answers; its destructor, when the last reference is dropped, calls back.
struct Gathering {
  std::vector<ServerClients> servers;
  std::function<void(std::vector<ServerClients>)> done;
  ~Gathering() { done(std::move(servers)); }
};

}  // namespace

void QueryClients(const CommandCall& call, const std::vector<ServerHandle*>& servers,
                  std::function<void(std::vector<ServerClients>)> done) {
  const auto gathering = std::make_shared<Gathering>();
  gathering->done = std::move(done);
  for (ServerHandle* server : servers) {
    gathering->servers.push_back({.server_pid = server->pid(),
                                  .name = server->name(),
                                  .policy = server->policy(),
                                  .uid = server->uid(),
                                  .state = server->state(),
                                  .settings = server->settings(),
                                  .devices = server->devices()});
  }
  for (size_t i = 0; i < servers.size(); ++i) {
    gathering->servers[i].asked = servers[i]->state() != ServerState::kInitializing || !servers[i]->adopted();
    if (servers[i]->state() == ServerState::kInitializing) continue;
    servers[i]->Ask(
        wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kClients},
        [gathering, i, caller = call.caller, &access = call.context.access](Result<ServerHandle::Reply> reply) {
          ServerClients& entry = gathering->servers[i];
          if (!reply) {
            entry.error = reply.error().text;
            return;
          }
          entry.clients = std::move(reply->body.clients);
          entry.running = std::move(reply->body.text);
          std::erase_if(entry.clients, [&](const auto& client) { return !access.MaySee(caller, client); });
        });
  }
}

Result<std::optional<ClientProcess>> FindClient(const std::vector<ServerClients>& servers, std::string_view word) {
  const size_t colon = word.find(':');
  const auto number = control::ParseNumber(word.substr(0, colon));
  const auto id = colon == word.npos ? std::nullopt : control::ParseNumber(word.substr(colon + 1));
  if (!number || (colon != word.npos && !id)) return std::nullopt;
  std::vector<ClientProcess> found;
  // Keyed by user as well: the claimed PID namespace must not merge a process with another user's.
  std::map<std::tuple<size_t, uint32_t, uint64_t>, size_t> processes;  // by server, user and namespace
  for (size_t i = 0; i < servers.size(); ++i) {
    for (const wire::ClientStatus& client : servers[i].clients) {
      const bool named =
          id ? static_cast<uint64_t>(servers[i].server_pid) == *number && client.id == *id : client.pid == *number;
      if (!named) continue;
      const auto [process, is_new] = processes.try_emplace({i, client.uid, client.pid_namespace}, found.size());
      if (is_new) found.push_back({i, client, {}});
      found[process->second].ids.insert(client.id);
    }
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  constexpr size_t kMostNamed = 16;
  std::string names;
  for (const ClientProcess& one : found | std::views::take(kMostNamed)) {
    fmt::format_to(std::back_inserter(names), "{}{}:{} (user {})", names.empty() ? "" : ", ",
                   servers[one.server].server_pid, one.first.id, one.first.uid);
  }
  return Fail(
      fmt::format("{} clients have the process id {}: name one as SERVER:ID: {}", found.size(), *number, names));
}

void WithClient(const CommandCall& call,
                std::function<void(ServerHandle&, const ServerClients&, const ClientProcess&)> found,
                std::string (*not_found)(std::string_view)) {
  QueryClients(call, VisibleServers(call),
               [call, found = std::move(found), not_found](const std::vector<ServerClients>& servers) {
                 const auto client = FindClient(servers, call.word(1));
                 if (!client) return call.reply.Line(client.error().text);
                 ServerHandle* const server =
                     *client ? call.context.servers.Find(servers[(*client)->server].server_pid) : nullptr;
                 if (server == nullptr) return call.reply.Line(not_found(call.word(1)));
                 found(*server, servers[(*client)->server], **client);
               });
}

void WithLivingClients(const CommandCall& call, std::function<void(const LivingClients&)> found) {
  CommandCall as_daemon = call;
  as_daemon.caller = Ourselves();
  QueryClients(as_daemon, call.context.servers.All(),
               [found = std::move(found)](const std::vector<ServerClients>& servers) {
                 LivingClients living;
                 for (const ServerClients& server : servers) {
                   for (const auto& client : server.clients) living.pids.insert(client.pid);
                   living.all = living.all && server.asked && server.error.empty();
                 }
                 found(living);
               });
}

std::string PciAddress(const wire::ServedDevice& device) {
  return fmt::format("{:08X}:{:02X}:{:02X}.0", device.pci_domain, device.pci_bus, device.pci_device);
}

std::string DeviceUuid(const ServerClients& server, uint32_t device) {
  return device < server.devices.size() ? control::FormatUuid(server.devices[device].uuid) : "";
}

}  // namespace tutti::daemon::commands
