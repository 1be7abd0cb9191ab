// Servers record the trace. A dump travels as memory files through the daemon to the shell, which writes the file
// itself, with the rights and in the directory of the person who asked.
#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/server_set.h"

namespace tutti::daemon::commands {
namespace {

// A trace shows all users' programs, so the right to see a server is not enough.
std::vector<ServerHandle*> Traceable(const CommandCall& call) {
  auto servers = call.context.servers.All();
  std::erase_if(servers, [&](const ServerHandle* server) {
    return !call.context.access.MayChangeServerOf(call.caller, server->uid());
  });
  return servers;
}

struct Dumps {
  CommandAnswer answer;
  Reply reply;
  explicit Dumps(Reply to) : reply(std::move(to)) {}
  ~Dumps() { reply.Finish(std::move(answer)); }
};

void Dump(const CommandCall& call) {
  const auto dumps = std::make_shared<Dumps>(call.reply);
  for (ServerHandle* server : Traceable(call)) {
    if (server->state() == ServerState::kInitializing) continue;
    server->Ask(wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kTrace},
                [dumps, pid = server->pid(), connected = server->connected()](Result<ServerHandle::Reply> reply) {
                  if (reply && reply->body.status == 0 && reply->file) {
                    dumps->answer.files.push_back(std::move(reply->file));
                  } else {
                    if (connected) dumps->answer.exit_status = 1;
                    dumps->answer.text +=
                        fmt::format("Server {}: {}\n", pid, reply ? reply->body.text : reply.error().text);
                  }
                });
  }
}

void Switch(const CommandCall& call, bool on) {
  if (call.caller.administrator) call.context.defaults.trace = on;  // servers started later, too
  SetOnServers(call, Traceable(call), {.what = wire::SettingKind::kTrace, .number = on});
}

}  // namespace

void Trace(const CommandCall& call) {
  const std::string_view what = call.word(1);
  if (what == "on" || what == "off") return Switch(call, what == "on");
  if (what == "dump") return Dump(call);
  call.reply.Line(fmt::format("trace \"{}\" is unknown: give on, off, or dump FILE", what));
}

}  // namespace tutti::daemon::commands
