#include <fmt/format.h>

#include <algorithm>

#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/live_limits.h"

namespace tutti::daemon::commands {
namespace {

// A user may lower their own value, but not raise it above the daemon's default. Answers the call if it refuses.
bool AllowedFor(const CommandCall& call, double percentage) {
  const double standard = call.context.defaults.server.active_thread_percentage;
  const daemon::Claim* const claim = call.context.claims.Find(call.caller.claim);
  const double given = claim != nullptr ? claim->active_thread_percentage.value_or(100) : 100;
  if (call.caller.administrator || percentage <= std::min(standard, given)) return true;
  call.reply.Line(given < standard ? fmt::format("Permission denied: the claim {} is for {}", call.caller.claim,
                                                 control::FormatPercentage(given))
                                   : fmt::format("Permission denied: user {} cannot go above the default of {}",
                                                 call.caller.uid, control::FormatPercentage(standard)));
  return false;
}

// Sets `percentage` if the word is valid; the answer is the value then in force, which is how NVIDIA's daemon reports a
// rejected value. Without permission, answers the call and returns false.
bool Set(const CommandCall& call, size_t index, double& percentage) {
  const auto value = control::ParsePercentage(call.word(index));
  if (value && !AllowedFor(call, *value)) return false;
  if (value) percentage = *value;
  if (!value) call.context.log.Info(call.caller.party(), "Nothing changed: {}", value.error().text);
  return true;
}

// The live form: the process id is a running client's.
void SetOfClient(const CommandCall& call, ServerHandle& server, const ClientProcess& client) {
  const auto value = control::ParsePercentage(call.word(2));
  if (!value) return call.reply.Line(value.error().text);
  if (!AllowedFor(call, *value)) return;
  AskAbout(server, client, wire::MessageKind::kServerSet,
           wire::ServerSet{.what = wire::SettingKind::kPercentage, .percentage = *value},
           [reply = call.reply, percentage = *value](const Result<wire::ServerReply>& answer) {
             if (!answer) return reply.Line(answer.error().text);
             reply.Line(answer->status == 0 ? control::FormatPercentage(percentage) : answer->text);
           });
}

}  // namespace

void SetDefaultActiveThreadPercentage(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  double& percentage = call.context.defaults.server.active_thread_percentage;
  if (Set(call, 1, percentage)) call.reply.Line(control::FormatPercentage(percentage));
}

void GetDefaultActiveThreadPercentage(const CommandCall& call) {
  call.reply.Line(control::FormatPercentage(call.context.defaults.server.active_thread_percentage));
}

void SetActiveThreadPercentage(const CommandCall& call) {
  if (!NamesServer(call, 1)) {
    return WithClient(call, [call](ServerHandle& server, const ServerClients&, const ClientProcess& client) {
      SetOfClient(call, server, client);
    });
  }
  ServerHandle* const server = NamedServer(call, 1, Access::kInstruct);
  if (server == nullptr) return;
  double& percentage = server->settings().active_thread_percentage;
  if (!Set(call, 2, percentage)) return;
  ApplyToRunningClients(call.context, *server, {.percentage = true},
                        [reply = call.reply, percentage] { reply.Line(control::FormatPercentage(percentage)); });
}

void GetActiveThreadPercentage(const CommandCall& call) {
  if (!NamesServer(call, 1)) {
    return WithClient(call, [call](ServerHandle&, const ServerClients&, const ClientProcess& client) {
      call.reply.Line(control::FormatPercentage(client.first.percentage));
    });
  }
  if (ServerHandle* server = NamedServer(call, 1, Access::kSee)) {
    call.reply.Line(control::FormatPercentage(server->settings().active_thread_percentage));
  }
}

}  // namespace tutti::daemon::commands
