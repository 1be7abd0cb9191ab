#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/server_set.h"

namespace tutti::daemon::commands {

// Without a server: of all servers, those that start later included.
void SetPolicy(const CommandCall& call) {
  const std::string policy(call.word(1));
  if (policy != "share" && policy != "time_slice") {
    return call.reply.Line(fmt::format("Policy \"{}\" is unknown: give share or time_slice", policy));
  }
  const wire::ServerSet set{.what = wire::SettingKind::kPolicy, .text = policy};
  if (!call.word(2).empty()) {
    if (ServerHandle* server = NamedServer(call, 2, Access::kChange)) SetOnServers(call, {server}, set);
    return;
  }
  if (!RequirePrivilege(call)) return;
  call.daemon.defaults().policy = policy;
  SetOnServers(call, call.daemon.servers().All(), set);
}

void GetPolicy(const CommandCall& call) { call.reply.Line(call.daemon.defaults().policy); }

}  // namespace tutti::daemon::commands
