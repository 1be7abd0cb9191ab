#include <fmt/format.h>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

constexpr uint64_t kPatienceNs = 30'000'000'000;

void Terminate(ServerHandle& server, uint32_t pid, const Reply& reply) {
  server.Ask(wire::MessageKind::kTerminateClient, wire::TerminateClient{.pid = pid},
             [reply](const Result<ServerHandle::Reply>& answer) {
               if (!answer) return reply.Line(answer.error().text);
               reply.Line(std::to_string(answer->body.status));
             }, kPatienceNs);
}

}  // namespace

// Answers when the client's work has ended: 0, or the CUresult that says why not.
void TerminateClient(const CommandCall& call) {
  ServerHandle* const server = NamedServer(call, 1, Access::kSee);
  if (server == nullptr) return;
  const auto pid = control::ParseNumber(call.word(2));
  if (!pid) return call.reply.Line(fmt::format("\"{}\" is not the process id of a client: see get_client_list {}", call.word(2), server->pid()));
  QueryClients(call, {server}, [call, pid = *pid](const std::vector<ServerClients>& servers) {
    if (!servers[0].error.empty()) return call.reply.Line(servers[0].error);
    ServerHandle* const still_there = call.daemon.servers().Find(servers[0].server_pid);
    if (still_there == nullptr || ServerOfClient(servers, pid) < 0) {
      return call.reply.Line(fmt::format("Client {} not found on server {}", pid, servers[0].server_pid));
    }
    Terminate(*still_there, pid, call.reply);
  });
}

}  // namespace tutti::daemon::commands
