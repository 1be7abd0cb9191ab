#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

void SetMemorySharing(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  const auto sharing = control::ParseMemorySharing(call.word(1));
  if (!sharing) return call.reply.Line(sharing.error().text);
  call.context.defaults.memory_sharing = *sharing;
  call.reply.Nothing();
}

void GetMemorySharing(const CommandCall& call) {
  call.reply.Line(std::string(control::MemorySharingName(call.context.defaults.memory_sharing)));
}

}  // namespace tutti::daemon::commands
