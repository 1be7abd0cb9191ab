#include <fmt/format.h>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

constexpr uint64_t kPatienceNs = 30'000'000'000;

}  // namespace

// Answers when the client's work has ended: 0, or the CUresult that says why not.
void TerminateClient(const CommandCall& call) {
  ServerHandle* const server = NamedServer(call, 1, Access::kSee);
  if (server == nullptr) return;
  const std::string_view word = call.word(2);
  if (!control::ParseNumber(word.substr(0, word.find(':')))) {
    return call.reply.Line(
        fmt::format("\"{}\" is not the process id of a client: see get_client_list {}", word, server->pid()));
  }
  QueryClients(call, {server}, [call](const std::vector<ServerClients>& servers) {
    if (!servers[0].error.empty()) return call.reply.Line(servers[0].error);
    ServerHandle* const still_there = call.context.servers.Find(servers[0].server_pid);
    const auto client = FindClient(servers, call.word(2));
    if (!client) return call.reply.Line(client.error().text);
    if (still_there == nullptr || !*client) {
      return call.reply.Line(fmt::format("Client {} not found on server {}", call.word(2), servers[0].server_pid));
    }
    AskAbout(
        *still_there, **client, wire::MessageKind::kTerminateClient, wire::TerminateClient{},
        [reply = call.reply](const Result<wire::ServerReply>& answer) {
          if (!answer) return reply.Line(answer.error().text);
          reply.Line(std::to_string(answer->status));
        },
        kPatienceNs);
  });
}

}  // namespace tutti::daemon::commands
