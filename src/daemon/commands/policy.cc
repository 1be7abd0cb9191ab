#include "control/policy.h"

#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/server_set.h"

namespace tutti::daemon::commands {

// Without a server: for all servers, including later ones.
void SetPolicy(const CommandCall& call) {
  const std::string policy(call.word(1));
  if (!control::IsPolicy(policy)) {
    return call.reply.Line(fmt::format("Policy \"{}\" is unknown: give {}", policy, control::kPolicyNamesText));
  }
  const wire::ServerSet set{.what = wire::SettingKind::kPolicy, .text = policy};
  if (!call.word(2).empty()) {
    ServerHandle* const server = NamedServer(call, 2, Access::kInstruct);
    if (server == nullptr) return;
    server->set_policy(policy);
    return SetOnServers(call, {server}, set);
  }
  if (!RequirePrivilege(call)) return;
  call.context.defaults.policy = policy;
  for (ServerHandle* server : call.context.servers.All()) server->set_policy(policy);
  SetOnServers(call, call.context.servers.All(), set);
}

void GetPolicy(const CommandCall& call) { call.reply.Line(call.context.defaults.policy); }

}  // namespace tutti::daemon::commands
