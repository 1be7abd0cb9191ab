#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// Returns at once: new clients of the user go to a new server from now on, while this one waits for its last client.
void ShutdownServer(const CommandCall& call) {
  const bool force_first = call.word(1) == "-f";
  ServerHandle* const server = NamedServer(call, force_first ? 2 : 1, Access::kChange);
  if (server == nullptr) return;
  server->Shutdown(force_first || call.word(2) == "-f");
  call.reply.Nothing();
}

}  // namespace tutti::daemon::commands
