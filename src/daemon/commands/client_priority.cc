#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/live_limits.h"

namespace tutti::daemon::commands {

void SetDefaultClientPriority(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  const auto priority = control::ParsePriority(call.word(1));
  if (!priority) return call.reply.Line(priority.error().text);
  call.context.defaults.client_priority = *priority;
  // Answered after the last server.
  const std::shared_ptr<void> answered(nullptr, [reply = call.reply](void*) { reply.Nothing(); });
  for (ServerHandle* server : call.context.servers.All())
    ApplyToRunningClients(call.context, *server, {.priority = true}, [answered] {});
}

void GetDefaultClientPriority(const CommandCall& call) {
  call.reply.Line(std::to_string(call.context.defaults.client_priority));
}

// For one running client, from the next scheduling decision on. Its owner may only lower it.
void SetClientPriority(const CommandCall& call) {
  WithClient(
      call,
      [call](ServerHandle& server, const ServerClients&, const ClientProcess& client) {
        const auto priority = control::ParsePriority(call.word(2));
        if (!priority) return call.reply.Line(priority.error().text);
        if (!call.caller.administrator && *priority < client.first.priority) {
          return call.reply.Line(
              fmt::format("Permission denied: user {} cannot raise a client's priority", call.caller.uid));
        }
        AskAbout(server, client, wire::MessageKind::kServerSet,
                 wire::ServerSet{.what = wire::SettingKind::kPriority, .number = static_cast<uint64_t>(*priority)},
                 [reply = call.reply](const Result<wire::ServerReply>& answer) {
                   if (!answer) return reply.Line(answer.error().text);
                   answer->status == 0 ? reply.Nothing() : reply.Line(answer->text);
                 });
      },
      ClientNotFound);
}

}  // namespace tutti::daemon::commands
