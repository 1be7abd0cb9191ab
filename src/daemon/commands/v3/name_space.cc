#include <fmt/format.h>

#include <algorithm>

#include "control/object_values.h"
#include "daemon/commands/live_limits.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

std::string Directory(const Request& request, const NamedServer& server, const std::string& name) {
  return request.context().sockets.Directory({.server = server.plan.name, .name_space = name});
}

// The namespace that the request names, of a server that the caller may change; null after a refusal.
NamespaceLimits* FindNamespace(const Request& request, NamedServer& server, const std::string& name) {
  const auto found = server.namespaces.find(name);
  if (found != server.namespaces.end()) return &found->second;
  request.Refuse(fmt::format("server {} has no namespace \"{}\": see namespace list --server={}", server.plan.name,
                             name, server.plan.name));
  return nullptr;
}

void Create(const Request& request) {
  NamedServer* const server = FindOwnServer(request, *request.option("server"));
  if (server == nullptr) return;
  const std::string name = request.positional(0);
  if (const auto good = control::CheckObjectName("namespace", name); !good) return request.Refuse(good.error().text);
  if (!MayNameServer(name))
    return request.Refuse(fmt::format("namespace name \"{}\" is taken by a file of the pipe directory", name));
  if (server->namespaces.contains(name))
    return request.Refuse(fmt::format("server {} has a namespace {} already", server->plan.name, name));
  constexpr size_t kMostNamespaces = 256;  // each has a socket
  if (server->namespaces.size() >= kMostNamespaces)
    return request.Refuse(
        fmt::format("server {} has {} namespaces: delete one", server->plan.name, server->namespaces.size()));
  if (const auto opened = request.context().sockets.Open({.server = server->plan.name, .name_space = name}); !opened) {
    return request.Refuse(opened.error().text);
  }
  server->namespaces[name];
  request.call.reply.Text(
      fmt::format("Namespace '{}' created\nCUDA_MPS_PIPE_DIRECTORY={}\n", name, Directory(request, *server, name)));
}

std::vector<wire::ClientStatus> In(const std::vector<wire::ClientStatus>& clients, const std::string& full_name) {
  std::vector<wire::ClientStatus> found;
  std::ranges::copy_if(clients, std::back_inserter(found),
                       [&](const auto& client) { return client.name_space == full_name; });
  return found;
}

void Remove(const Request& request, NamedServer& server, const std::string& name) {
  request.context().sockets.Close({.server = server.plan.name, .name_space = name});
  server.namespaces.erase(name);
  request.Line(fmt::format("Namespace '{}' deleted", name));
}

void Delete(const Request& request) {
  NamedServer* const server = FindOwnServer(request, *request.option("server"));
  if (server == nullptr || FindNamespace(request, *server, request.positional(0)) == nullptr) return;
  if (request.positional(0) == kDefaultNamespace)
    return request.Refuse("namespace default cannot be deleted: delete its server");
  WithClientsOf(
      request, *server, [request, server_name = server->plan.name](const std::vector<wire::ClientStatus>& clients) {
        NamedServer* const still = request.context().catalog.Find(server_name);
        if (still == nullptr) return request.Refuse(fmt::format("server {} has been deleted meanwhile", server_name));
        const std::string name = request.positional(0);
        const auto inside = In(clients, FullName(server_name, name));
        if (!inside.empty() && !request.flag("force")) {
          return request.Refuse(
              fmt::format("namespace {} has {} clients: end them first, or add --force", name, inside.size()));
        }
        for (const auto& client : inside) {
          if (ServerHandle* process = ProcessOf(request, *still)) {
            process->Ask(wire::MessageKind::kTerminateClient, wire::TerminateClient{.client = client.id},
                         [](const auto&) {});
          }
        }
        Remove(request, *still, name);
      });
}

void List(const Request& request) {
  control::TextTable table{.columns = {"NAME", "SERVER", "SERVER-STATUS", "PINNED-MEMORY-LIMIT",
                                       "ACTIVE-THREAD-PERCENTAGE", "CLIENT-PRIORITY", "PIPE-DIRECTORY"}};
  const std::string* const only = request.option("server");
  if (only != nullptr && FindServer(request, *only) == nullptr) return;
  for (const NamedServer* server : VisibleServers(request)) {
    if (only != nullptr && server->plan.name != *only) continue;
    for (const auto& [name, limits] : server->namespaces) {
      if (!request.positionals.empty() && name != request.positional(0)) continue;
      table.rows.push_back({name, server->plan.name, StatusWord(request, *server), MemoryText(limits),
                            PercentageText(limits), PriorityText(limits), Directory(request, *server, name)});
    }
  }
  request.Print(table);
}

void Set(const Request& request) {
  NamedServer* const server = FindOwnServer(request, *request.option("server"));
  if (server == nullptr) return;
  NamespaceLimits* const limits = FindNamespace(request, *server, request.positional(0));
  if (limits == nullptr) return;
  auto changed = ChangedLimits(request, *server, *limits);
  if (!changed) return request.Refuse(changed.error().text);
  *limits = *std::move(changed);
  ServerHandle* const process = ProcessOf(request, *server);
  if (process == nullptr) return request.Done();
  ApplyToRunningClients(request.context(), *process, ChangedBy(request), [request] { request.Done(); });
}

void Get(const Request& request) {
  NamedServer* const server = FindServer(request, request.positional(1));
  if (server == nullptr) return;
  const NamespaceLimits* const limits = FindNamespace(request, *server, request.positional(0));
  if (limits == nullptr) return;
  const std::string& field = request.positionals[2];
  if (field == "name") return request.Line(request.positional(0));
  if (field == "server") return request.Line(server->plan.name);
  if (field == "server-status") return request.Line(StatusWord(request, *server));
  if (field == "pinned-memory-limit") return request.Line(MemoryText(*limits));
  if (field == "active-thread-percentage") return request.Line(PercentageText(*limits));
  if (field == "client-priority") return request.Line(PriorityText(*limits));
  if (field == "memory-sharing") return request.Line(SharingText(*limits));
  if (field == "pipe-directory") return request.Line(Directory(request, *server, request.positional(0)));
  request.Refuse(fmt::format(
      "field \"{}\" is unknown: give name, server, server-status, pinned-memory-limit, active-thread-percentage, "
      "client-priority, memory-sharing or pipe-directory",
      field));
}

}  // namespace

const Module& NamespaceModule() {
  static const Verb verbs[] = {
      {"create", "<name>", {{"server", "name", true}}, "makes a namespace, with a socket of its own", Create},
      {"delete",
       "<name>",
       {{"server", "name", true}, {"force", ""}},
       "removes a namespace; with --force its clients are ended",
       Delete},
      {"list", "[<name>]", {{"server", "name"}, {"format", "table|csv|json"}}, "the namespaces and their limits", List},
      {"set",
       "<name>",
       {{"server", "name", true},
        kLimitOptions[0],
        kLimitOptions[1],
        kLimitOptions[2],
        kLimitOptions[3],
        kLimitOptions[4],
        kLimitOptions[5]},
       "limits of its clients; running clients follow at once",
       Set},
      {"get", "<name> <server> <field>", {}, "one value of those that list shows", Get},
  };
  static const Module module{"namespace", "groups of a server's clients, with limits", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
