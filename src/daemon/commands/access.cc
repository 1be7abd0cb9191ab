#include "daemon/commands/access.h"

#include <fmt/format.h>
#include <unistd.h>

#include "control/words.h"

namespace tutti::daemon::commands {

std::string ServerNotFound(std::string_view word) {
  return fmt::format("Server {} not found", control::ParseNumber(word).value_or(0));
}

bool NamesServer(const CommandCall& call, size_t index) {
  const auto pid = control::ParseNumber(call.word(index));
  return pid && call.daemon.servers().Find(static_cast<pid_t>(*pid)) != nullptr;
}

ServerHandle* NamedServer(const CommandCall& call, size_t index, Access access) {
  const auto pid = control::ParseNumber(call.word(index));
  ServerHandle* const server = pid ? call.daemon.servers().Find(static_cast<pid_t>(*pid)) : nullptr;
  if (server == nullptr) {
    call.reply.Line(ServerNotFound(call.word(index)));
    return nullptr;
  }
  const uid_t uid = call.caller.uid;
  if (!(access == Access::kSee ? call.daemon.MaySee(uid, *server) : call.daemon.MayControl(uid, *server))) {
    call.reply.Line(fmt::format("Permission denied: server {} belongs to user {}", server->pid(), server->uid()));
    return nullptr;
  }
  return server;
}

bool RequirePrivilege(const CommandCall& call) {
  if (call.daemon.Privileged(call.caller.uid)) return true;
  call.reply.Line(geteuid() == 0 ? fmt::format("Permission denied: {} is for root", call.word(0))
                                 : fmt::format("Permission denied: {} is for root and user {}", call.word(0), geteuid()));
  return false;
}

}  // namespace tutti::daemon::commands
