#include <fmt/format.h>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// A no-op if the user's server already runs: job prologs start it each time.
void StartServer(const CommandCall& call) {
  const auto uid = call.word(1) == "-uid" ? control::ParseNumber(call.word(2)) : std::nullopt;
  if (!uid) return call.reply.Line("A user id (UID) is required to start a new server");
  if (!call.caller.administrator && *uid != call.caller.uid) {
    return call.reply.Line(
        fmt::format("Permission denied: user {} cannot start a server for user {}", call.caller.uid, *uid));
  }
  const uid_t served_as = *uid == call.caller.uid ? call.caller.served_as : *uid;
  const auto started =
      call.context.servers.Ensure(PlanOfUser(call.context.catalog.ServingUser(served_as)), call.caller.party());
  if (!started) return call.reply.Line(started.error().text);
  call.reply.Nothing();
}

}  // namespace tutti::daemon::commands
