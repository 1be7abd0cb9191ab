#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

void SetDefaultClientPriority(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  const auto priority = control::ParsePriority(call.word(1));
  if (!priority) return call.reply.Line(priority.error().text);
  call.daemon.defaults().client_priority = *priority;
  call.reply.Nothing();
}

void GetDefaultClientPriority(const CommandCall& call) {
  call.reply.Line(std::to_string(call.daemon.defaults().client_priority));
}

}  // namespace tutti::daemon::commands
