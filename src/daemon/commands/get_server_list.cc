#include <fmt/format.h>

#include <iterator>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

void GetServerList(const CommandCall& call) {
  std::string text;
  for (const ServerHandle* server : VisibleServers(call)) {
    fmt::format_to(std::back_inserter(text), "{}\n", server->pid());
  }
  call.reply.Text(std::move(text));
}

void GetServerStatus(const CommandCall& call) {
  if (const ServerHandle* server = NamedServer(call, 1, Access::kSee)) call.reply.Line(StateName(server->state()));
}

}  // namespace tutti::daemon::commands
