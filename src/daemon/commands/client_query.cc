#include "daemon/commands/client_query.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "control/client_table.h"
#include "control/words.h"
#include "daemon/commands/access.h"

namespace tutti::daemon::commands {
namespace {

// Collects the answers; calls back when the last holder of it has gone.
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
    gathering->servers.push_back({.server_pid = server->pid(), .name = server->name(), .policy = server->policy(), .uid = server->uid(), .state = server->state(),
                                  .settings = server->settings(), .devices = server->devices()});
  }
  for (size_t i = 0; i < servers.size(); ++i) {
    if (servers[i]->state() == ServerState::kInitializing) continue;
    servers[i]->Ask(wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kClients},
                    [gathering, i, &daemon = call.daemon, uid = call.caller.uid](Result<ServerHandle::Reply> reply) {
                      ServerClients& entry = gathering->servers[i];
                      if (!reply) {
                        entry.error = reply.error().text;
                        return;
                      }
                      entry.clients = std::move(reply->body.clients);
                      entry.running = std::move(reply->body.text);
                      std::erase_if(entry.clients, [&](const auto& client) { return !daemon.MaySeeClient(uid, client.uid); });
                    });
  }
}

int ServerOfClient(const std::vector<ServerClients>& servers, uint32_t client_pid) {
  for (size_t i = 0; i < servers.size(); ++i) {
    for (const auto& client : servers[i].clients) {
      if (client.pid == client_pid) return static_cast<int>(i);
    }
  }
  return -1;
}

void WithClient(const CommandCall& call, std::function<void(ServerHandle&, const ServerClients&, const wire::ClientStatus&)> found) {
  QueryClients(call, call.daemon.ServersOf(call.caller.uid), [call, found = std::move(found)](const std::vector<ServerClients>& servers) {
    const uint32_t pid = control::ParseNumber(call.word(1)).value_or(0);
    const int index = pid == 0 ? -1 : ServerOfClient(servers, pid);
    if (index < 0) return call.reply.Line(ServerNotFound(call.word(1)));
    const ServerClients& entry = servers[static_cast<size_t>(index)];
    ServerHandle* const server = call.daemon.servers().Find(entry.server_pid);
    if (server == nullptr) return call.reply.Line(ServerNotFound(call.word(1)));
    found(*server, entry, *std::ranges::find(entry.clients, pid, &wire::ClientStatus::pid));
  });
}

void WithLivingClients(const CommandCall& call, std::function<void(const std::set<uint32_t>&)> found) {
  CommandCall as_daemon = call;
  as_daemon.caller.uid = geteuid();
  QueryClients(as_daemon, call.daemon.servers().All(), [found = std::move(found)](const std::vector<ServerClients>& servers) {
    std::set<uint32_t> pids;
    for (const ServerClients& server : servers) {
      for (const auto& client : server.clients) pids.insert(client.pid);
    }
    found(pids);
  });
}

std::string PciAddress(const wire::ServedDevice& device) {
  return fmt::format("{:08X}:{:02X}:{:02X}.0", device.pci_domain, device.pci_bus, device.pci_device);
}

std::string DeviceUuid(const ServerClients& server, uint32_t device) {
  return device < server.devices.size() ? control::FormatUuid(server.devices[device].uuid) : "";
}

}  // namespace tutti::daemon::commands
