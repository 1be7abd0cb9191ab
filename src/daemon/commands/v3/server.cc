#include <fmt/format.h>

#include <algorithm>

#include "control/object_values.h"
#include "control/words.h"
#include "daemon/commands/live_limits.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

constexpr uint64_t kLookAgainNs = 10'000'000;

std::string Directory(const Request& request, const NamedServer& server) {
  return request.context().sockets.Directory({.server = server.plan.name});
}

std::string AllowedText(const NamedServer& server) {
  return server.allowed_devices.empty() ? "all" : server.allowed_devices;
}

// The user a new server is for: --uid, else the caller.
Result<uid_t> Owner(const Request& request) {
  const std::string* const text = request.option("uid");
  if (text == nullptr && request.context().access.MayChangeServerOf(request.call.caller, request.uid()))
    return request.context().catalog.ServingUser(request.uid());
  if (text == nullptr) return Fail("Permission denied: servers are made outside of containers");
  const auto uid = control::ParseNumber(*text);
  if (!uid) return Fail(fmt::format("\"{}\" is not a user id: give one, as --uid=1000", *text));
  if (request.context().options.multi_user && *uid != request.context().catalog.ServingUser(*uid)) {
    return Fail(fmt::format("in multi-user mode all servers are of user {}: leave --uid out",
                            request.context().catalog.ServingUser(*uid)));
  }
  if (!request.context().access.MayChangeServerOf(request.call.caller, *uid)) {
    return Fail(fmt::format("Permission denied: user {} cannot create a server of user {}", request.uid(), *uid));
  }
  return *uid;
}

// No device here has locality domains, so only "false" is accepted.
Status ReadLocalityDomains(const Request& request) {
  const std::string* const text = request.option("locality-domains");
  if (text == nullptr) return {};
  TUTTI_ASSIGN(const bool wanted, control::ParseBoolean(*text));
  return wanted ? Fail("no device here has locality domains: leave --locality-domains out") : Status();
}

// Each server is a process, so an unprivileged user gets a limited number.
Status MayHaveOneMore(const Request& request, uid_t uid) {
  constexpr int64_t kMostServersOfUser = 32;
  if (request.call.caller.administrator) return {};
  const auto all = request.context().catalog.All();
  const auto own = std::ranges::count_if(all, [uid](const NamedServer* server) { return server->plan.uid == uid; });
  if (own < kMostServersOfUser) return {};
  return Fail(fmt::format("user {} has {} servers, the maximum: delete one", uid, own));
}

Result<NamedServer*> CreateServer(const Request& request) {
  TUTTI_ASSIGN(const uid_t uid, Owner(request));
  if (request.positionals.empty() && request.option("uid") == nullptr)
    return Fail("a name or --uid is needed: server create training");
  const std::string name = request.positionals.empty() ? PlanOfUser(uid).name : request.positional(0);
  TUTTI_TRY(control::CheckObjectName("server", name));
  if (!MayNameServer(name))
    return Fail(fmt::format("server name \"{}\" is taken by a file of the pipe directory", name));
  TUTTI_TRY(ReadLocalityDomains(request));
  TUTTI_TRY(MayHaveOneMore(request, uid));
  const std::string* const devices = request.option("allowed-devices");
  TUTTI_ASSIGN(NamedServer * server, request.context().catalog.Create(name, uid, devices != nullptr ? *devices : ""));
  if (const auto started = request.context().servers.Ensure(server->plan, request.call.caller.party()); !started) {
    request.context().remove_server(name);
    return std::unexpected(started.error());
  }
  return server;
}

void Create(const Request& request) {
  const auto server = CreateServer(request);
  if (!server) return request.Refuse(server.error().text);
  request.call.reply.Text(fmt::format("Server '{}' created\nCUDA_MPS_PIPE_DIRECTORY={}\n", (*server)->plan.name,
                                      Directory(request, **server)));
}

void AnswerWhenGone(const Request& request, pid_t pid, const std::string& name) {
  if (request.context().servers.Find(pid) == nullptr) return request.Line(fmt::format("Server '{}' deleted", name));
  request.context().loop.After(kLookAgainNs, [request, pid, name] { AnswerWhenGone(request, pid, name); });
}

void DeleteNow(const Request& request, const std::string& name, bool force) {
  ServerHandle* const process = request.context().servers.Current(name);
  const pid_t pid = process != nullptr ? process->pid() : 0;
  if (process != nullptr) process->Shutdown(force);
  request.context().remove_server(name);
  AnswerWhenGone(request, pid, name);
}

void Delete(const Request& request) {
  NamedServer* const server = FindOwnServer(request, request.positional(0));
  if (server == nullptr) return;
  const std::string name = server->plan.name;
  if (request.flag("force")) return DeleteNow(request, name, true);
  WithClientsOf(request, *server, [request, name](const std::vector<wire::ClientStatus>& clients) {
    if (!clients.empty()) {
      return request.Refuse(
          fmt::format("server {} has {} clients: end them first, or add --force", name, clients.size()));
    }
    DeleteNow(request, name, false);
  });
}

void List(const Request& request) {
  control::TextTable table{
      .columns = {"NAME", "UID", "PID", "STATUS", "PIPE-DIRECTORY", "ALLOWED-DEVICES", "CONTEXT-IDS"}};
  if (!request.positionals.empty() && FindServer(request, request.positional(0)) == nullptr) return;
  for (const NamedServer* server : VisibleServers(request)) {
    if (!request.positionals.empty() && server->plan.name != request.positional(0)) continue;
    const ServerHandle* const process = ProcessOf(request, *server);
    table.rows.push_back({server->plan.name, std::to_string(server->plan.uid),
                          process != nullptr ? std::to_string(process->pid()) : "-", StatusWord(request, *server),
                          Directory(request, *server), AllowedText(*server), "-"});
  }
  request.Print(table);
}

Status SetUser(const Request& request, NamedServer& server) {
  if (request.option("uid") == nullptr) return {};
  TUTTI_ASSIGN(const uid_t uid, Owner(request));
  if (uid != server.plan.uid && ProcessOf(request, server) != nullptr) {
    return Fail(fmt::format("server {} runs as user {}: delete it and create it again for user {}", server.plan.name,
                            server.plan.uid, uid));
  }
  if (server.plan.name.starts_with("uid_") && server.plan.name != PlanOfUser(uid).name) {
    return Fail(fmt::format("server {} is kept for the user with that number", server.plan.name));
  }
  server.plan.uid = uid;
  return {};
}

void Set(const Request& request) {
  NamedServer* const server = FindOwnServer(request, request.positional(0));
  if (server == nullptr) return;
  if (request.options.empty()) return request.Refuse("nothing to set: see server set help");
  if (const auto locality = ReadLocalityDomains(request); !locality) return request.Refuse(locality.error().text);
  const bool has_limits = request.flag("pinned-memory-limit") || request.flag("active-thread-percentage") ||
                          request.flag("client-priority") || request.flag("memory-sharing");
  if (has_limits) {
    auto limits = ChangedLimits(request, *server, server->namespaces[kDefaultNamespace]);
    if (!limits) return request.Refuse(limits.error().text);
    server->namespaces[kDefaultNamespace] = *std::move(limits);
  }
  if (const auto user = SetUser(request, *server); !user) return request.Refuse(user.error().text);
  if (ServerHandle* process = ProcessOf(request, *server); has_limits && process != nullptr) {
    return ApplyToRunningClients(request.context(), *process, ChangedBy(request), [request] { request.Done(); });
  }
  request.Done();
}

void Get(const Request& request) {
  const NamedServer* const server = FindServer(request, request.positional(0));
  if (server == nullptr) return;
  const ServerHandle* const process = ProcessOf(request, *server);
  const std::string& field = request.positionals[1];
  if (field == "name") return request.Line(server->plan.name);
  if (field == "uid") return request.Line(std::to_string(server->plan.uid));
  if (field == "pid") return request.Line(process != nullptr ? std::to_string(process->pid()) : "-");
  if (field == "status") return request.Line(StatusWord(request, *server));
  if (field == "pipe-directory") return request.Line(Directory(request, *server));
  if (field == "allowed-devices") return request.Line(AllowedText(*server));
  request.Refuse(
      fmt::format("field \"{}\" is unknown: give name, uid, pid, status, pipe-directory or allowed-devices", field));
}

}  // namespace

const Module& ServerModule() {
  static const Verb verbs[] = {
      {"create",
       "[<name>]",
       {{"uid", "n"}, {"allowed-devices", "ids"}, {"locality-domains", "bool"}},
       "makes a server and starts it",
       Create},
      {"delete", "<name>", {{"force", ""}}, "ends a server; with --force its clients first", Delete},
      {"list", "[<name>]", {{"format", "table|csv|json"}}, "the servers", List},
      {"set",
       "<name>",
       {{"uid", "n"},
        kLimitOptions[0],
        kLimitOptions[1],
        {"locality-domains", "bool"},
        kLimitOptions[2],
        kLimitOptions[3]},
       "changes a server; limits are those of its namespace default",
       Set},
      {"get", "<name> <field>", {}, "one value: name, uid, pid, status, pipe-directory, allowed-devices", Get},
  };
  static const Module module{"server", "servers: one process each, of one user", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
