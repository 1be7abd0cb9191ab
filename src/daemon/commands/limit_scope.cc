#include <fmt/format.h>

#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// NVIDIA's memory limit is each process's own, so two processes of a container get it twice. With `container`, the
// clients of one cgroup that connect from now on share it.
void SetLimitScope(const CommandCall& call) {
  const std::string_view scope = call.word(1);
  if (scope != "process" && scope != "container") {
    return call.reply.Line(fmt::format("limit scope \"{}\" is unknown: give process or container", scope));
  }
  if (!RequirePrivilege(call)) return;
  call.context.accounting.container_scope = scope == "container";
  call.reply.Nothing();
}

void GetLimitScope(const CommandCall& call) {
  call.reply.Line(call.context.accounting.container_scope ? "container" : "process");
}

}  // namespace tutti::daemon::commands
