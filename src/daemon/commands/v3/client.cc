#include <fmt/format.h>

#include <algorithm>

#include "control/words.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

struct Entry {
  ServerHandle* server;
  wire::ClientStatus client;
};

// The clients the caller may see, of `servers`.
void WithClients(const Request& request, const std::vector<ServerHandle*>& servers,
                 std::function<void(const std::vector<Entry>&)> found) {
  commands::QueryClients(request.call, servers,
                         [request, found = std::move(found)](const std::vector<commands::ServerClients>& answers) {
                           std::vector<Entry> entries;
                           for (const auto& answer : answers) {
                             ServerHandle* const server = request.context().servers.Find(answer.server_pid);
                             for (const auto& client : answer.clients) {
                               if (server != nullptr) entries.push_back({server, client});
                             }
                           }
                           found(entries);
                         });
}

void List(const Request& request) {
  std::vector<ServerHandle*> servers = commands::VisibleServers(request.call);
  if (const std::string* name = request.option("server")) {
    if (FindServer(request, *name) == nullptr) return;
    std::erase_if(servers, [&](const ServerHandle* server) { return server->name() != *name; });
  }
  WithClients(request, servers, [request](const std::vector<Entry>& entries) {
    control::TextTable table{.columns = {"PID", "SERVER", "DEVICE", "NAMESPACE", "COMMAND"}};
    for (const auto& [server, client] : entries) {
      table.rows.push_back({std::to_string(client.pid), server->name(), std::to_string(client.device),
                            NamespaceOf(client.name_space), client.command_line});
    }
    request.Print(table);
  });
}

// The client that `positional(0)` names.
void WithOne(const Request& request, std::function<void(ServerHandle&, const commands::ClientProcess&)> found) {
  const std::string word = request.positional(0);
  if (!control::ParseNumber(word.substr(0, word.find(':'))))
    return request.Refuse(fmt::format("\"{}\" is not a process id: see client list", word));
  commands::QueryClients(
      request.call, commands::VisibleServers(request.call),
      [request, word, found = std::move(found)](const std::vector<commands::ServerClients>& servers) {
        const auto client = commands::FindClient(servers, word);
        if (!client) return request.Refuse(client.error().text);
        ServerHandle* const server =
            *client ? request.context().servers.Find(servers[(*client)->server].server_pid) : nullptr;
        if (server == nullptr) return request.Refuse(fmt::format("there is no client {}: see client list", word));
        found(*server, **client);
      });
}

void Get(const Request& request) {
  WithOne(request, [request](ServerHandle& of, const commands::ClientProcess& found) {
    const ServerHandle* const server = &of;
    const wire::ClientStatus& client = found.first;
    const std::string& field = request.positionals[1];
    if (field == "pid") return request.Line(std::to_string(client.pid));
    if (field == "server") return request.Line(server->name());
    if (field == "device") return request.Line(std::to_string(client.device));
    if (field == "pci-id") {
      return request.Line(
          client.device < server->devices().size() ? commands::PciAddress(server->devices()[client.device]) : "-");
    }
    if (field == "linux-ns") return request.Line(std::to_string(client.pid_namespace));
    if (field == "maws-ns") return request.Line(NamespaceOf(client.name_space));
    if (field == "cmd") return request.Line(client.command_line);
    request.Refuse(
        fmt::format("field \"{}\" is unknown: give pid, server, device, pci-id, linux-ns, maws-ns or cmd", field));
  });
}

void Terminate(const Request& request) {
  constexpr uint64_t kPatienceNs = 30'000'000'000;
  WithOne(request, [request](ServerHandle& server, const commands::ClientProcess& client) {
    commands::AskAbout(
        server, client, wire::MessageKind::kTerminateClient, wire::TerminateClient{},
        [request, pid = client.first.pid](const Result<wire::ServerReply>& answer) {
          if (!answer) return request.Refuse(answer.error().text);
          if (answer->status != 0) return request.Refuse(answer->text);
          request.Line(fmt::format("Client {} terminated", pid));
        },
        kPatienceNs);
  });
}

}  // namespace

const Module& ClientModule() {
  static const Verb verbs[] = {
      {"list",
       "",
       {{"server", "name"}, {"all", ""}, {"format", "table|csv|json"}},
       "the clients: your own, for root all",
       List},
      {"get", "<pid> <field>", {}, "one value: pid, server, device, pci-id, linux-ns, maws-ns, cmd", Get},
      {"terminate",
       "<pid>",
       {},
       "ends a client's work; its next call fails with CUDA_ERROR_MPS_CLIENT_TERMINATED",
       Terminate},
  };
  static const Module module{"client", "the CUDA processes", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
