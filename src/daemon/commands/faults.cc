// The last faults of all servers' clients. A multi-user server reports all users' faults: a user sees their own, an
// administrator all.
#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/server_lines.h"

namespace tutti::daemon::commands {
namespace {

// Answers once, after all servers have.
struct Gathered {
  CommandAnswer answer;
  Reply reply;
  explicit Gathered(Reply to) : reply(std::move(to)) {}
  ~Gathered() { reply.Finish(std::move(answer)); }
};

bool IsOf(const nlohmann::ordered_json& fault, uid_t uid) {
  const auto entry = fault.find("uid");
  return entry != fault.end() && entry->is_number_unsigned() && entry->get<uint64_t>() == uid;
}

void AddLines(const std::string& text, pid_t server, bool of_all, uid_t uid, std::string* out) {
  for (auto& fault : ReadServerLines(text)) {
    if (!of_all && !IsOf(fault, uid)) continue;
    fault["server"] = server;
    *out += fault.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
}

}  // namespace

void Faults(const CommandCall& call) {
  if (!call.caller.at_home)
    return call.reply.Finish({.text = "Permission denied: faults are not shown in containers\n", .exit_status = 1});
  const auto gathered = std::make_shared<Gathered>(call.reply);
  const bool of_all = call.caller.administrator;
  for (ServerHandle* server : VisibleServers(call)) {
    if (server->state() == ServerState::kInitializing) continue;
    server->Ask(wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kFaults},
                [gathered, of_all, uid = call.caller.uid, pid = server->pid(),
                 connected = server->connected()](Result<ServerHandle::Reply> reply) {
                  if (reply && reply->body.status == 0) {
                    AddLines(reply->body.text, pid, of_all, uid, &gathered->answer.text);
                  } else {
                    if (connected) gathered->answer.exit_status = 1;
                    gathered->answer.text +=
                        fmt::format("Server {}: {}\n", pid, reply ? reply->body.text : reply.error().text);
                  }
                });
  }
}

}  // namespace tutti::daemon::commands
