#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// Returns at once: the user's new clients get a new server, while this one ends with its last client.
void ShutdownServer(const CommandCall& call) {
  const bool force_first = call.word(1) == "-f";
  ServerHandle* const server = NamedServer(call, force_first ? 2 : 1, Access::kChange);
  if (server == nullptr) return;
  server->Shutdown(force_first || call.word(2) == "-f");
  call.reply.Nothing();
}

}  // namespace tutti::daemon::commands
