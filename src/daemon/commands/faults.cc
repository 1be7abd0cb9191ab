// The last faults of all servers' clients. A server of all users knows faults of all users: each sees their own, those who
// may see everything see all.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

// One answer when all servers have given theirs.
struct Gathered {
  CommandAnswer answer;
  Reply reply;
  explicit Gathered(Reply to) : reply(std::move(to)) {}
  ~Gathered() { reply.Finish(std::move(answer)); }
};

void AddLines(const std::string& text, pid_t server, bool of_all, uid_t uid, std::string* out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto fault = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!fault.is_object() || (!of_all && fault.value("uid", uint64_t{~0u}) != uid)) continue;
    fault["server"] = server;
    *out += fault.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
}

}  // namespace

void Faults(const CommandCall& call) {
  if (!call.caller.at_home) return call.reply.Finish({.text = "Permission denied: faults are told outside of containers\n", .exit_status = 1});
  const auto gathered = std::make_shared<Gathered>(call.reply);
  const bool of_all = call.caller.administrator;
  for (ServerHandle* server : call.daemon.ServersOf(call.caller)) {
    if (server->state() == ServerState::kInitializing) continue;
    server->Ask(wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kFaults},
                [gathered, of_all, uid = call.caller.uid, pid = server->pid()](Result<ServerHandle::Reply> reply) {
                  if (reply && reply->body.status == 0) {
                    AddLines(reply->body.text, pid, of_all, uid, &gathered->answer.text);
                  } else {
                    gathered->answer.exit_status = 1;
                    gathered->answer.text += fmt::format("Server {}: {}\n", pid, reply ? reply->body.text : reply.error().text);
                  }
                });
  }
}

}  // namespace tutti::daemon::commands
