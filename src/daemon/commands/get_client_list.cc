#include <fmt/format.h>

#include <iterator>
#include <set>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

// A client on several devices has an entry for each; as a process it counts once.
std::set<uint32_t> Processes(const ServerClients& server) {
  std::set<uint32_t> pids;
  for (const auto& client : server.clients) pids.insert(client.pid);
  return pids;
}

std::string DeviceLines(const std::vector<ServerClients>& servers) {
  std::string text;
  for (const ServerClients& server : servers) {
    for (uint32_t device = 0; device < server.devices.size(); ++device) {
      fmt::format_to(std::back_inserter(text), "{}\n", DeviceUuid(server, device));
      for (const auto& client : server.clients) {
        if (client.device == device) fmt::format_to(std::back_inserter(text), "{}\n", client.pid);
      }
    }
  }
  return text;
}

}  // namespace

void GetClientList(const CommandCall& call) {
  ServerHandle* const server = NamedServer(call, 1, Access::kSee);
  if (server == nullptr) return;
  QueryClients(call, {server}, [reply = call.reply](const std::vector<ServerClients>& servers) {
    if (!servers[0].error.empty()) return reply.Line(servers[0].error);
    std::string text;
    for (const uint32_t pid : Processes(servers[0])) fmt::format_to(std::back_inserter(text), "{}\n", pid);
    reply.Text(std::move(text));
  });
}

// A device's UUID, then the process ids of its clients, one per line.
void GetDeviceClientList(const CommandCall& call) {
  std::vector<ServerHandle*> servers = VisibleServers(call);
  if (control::ParseNumber(call.word(1)).value_or(0) != 0) {  // NVIDIA's takes 0 and words for "all"
    ServerHandle* const server = NamedServer(call, 1, Access::kSee);
    if (server == nullptr) return;
    servers = {server};
  }
  QueryClients(call, servers,
               [reply = call.reply](const std::vector<ServerClients>& answers) { reply.Text(DeviceLines(answers)); });
}

}  // namespace tutti::daemon::commands
