#include <fmt/format.h>

#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {

// Answered when every server has ended; the shell then waits for the daemon's end.
void Quit(const CommandCall& call) {
  std::optional<uint32_t> timeout_s;
  if (call.words.size() > 1) {
    timeout_s = call.word(1) == "-t" ? control::ParseNumber(call.word(2)) : std::nullopt;
    if (!timeout_s) return call.reply.Line("quit takes nothing or -t and a number of seconds: quit -t 5");
  }
  if (!RequirePrivilege(call)) return;
  call.context.quit(
      timeout_s, [reply = call.reply](int exit_status) { reply.Finish({.exit_status = exit_status, .ending = true}); });
}

void Upgrade(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  call.context.go_on_as_installed();
  call.reply.Nothing();
}

void RotateLogs(const CommandCall& call) {
  if (!RequirePrivilege(call)) return;
  call.context.open_logs_anew();
  call.reply.Nothing();
}

}  // namespace tutti::daemon::commands
