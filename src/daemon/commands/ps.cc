#include "control/client_table.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

std::string Table(const std::vector<ServerClients>& servers) {
  std::vector<control::ClientRow> rows;
  std::string errors;
  for (const ServerClients& server : servers) {
    if (!server.error.empty()) errors += server.error + "\n";
    for (const auto& client : server.clients) {
      rows.push_back({client.pid, client.id, static_cast<uint32_t>(server.server_pid),
                      control::ShortUuid(DeviceUuid(server, client.device)), client.pid_namespace,
                      client.command_line});
    }
  }
  return control::FormatClientTable(rows) + errors;
}

}  // namespace

void Ps(const CommandCall& call) {
  std::vector<ServerHandle*> servers = VisibleServers(call);
  if (call.word(1) == "-p") {
    ServerHandle* const server = NamedServer(call, 2, Access::kSee);
    if (server == nullptr) return;
    servers = {server};
  }
  if (servers.empty()) return call.reply.Line("Server not found");
  QueryClients(call, servers,
               [reply = call.reply](const std::vector<ServerClients>& answers) { reply.Text(Table(answers)); });
}

}  // namespace tutti::daemon::commands
