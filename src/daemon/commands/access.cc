#include "daemon/commands/access.h"

#include <fmt/format.h>
#include <unistd.h>

#include "control/words.h"

namespace tutti::daemon::commands {

std::string ServerNotFound(std::string_view word) {
  return fmt::format("Server {} not found", control::ParseNumber(word).value_or(0));
}

std::string ClientNotFound(std::string_view word) {
  if (word.empty()) return "no client is named: give its process id, or SERVER:ID, as ps shows them";
  return fmt::format("there is no client {}: ps lists them", word);
}

bool NamesServer(const CommandCall& call, size_t index) {
  const auto pid = control::ParseNumber(call.word(index));
  return pid && call.context.servers.Find(static_cast<pid_t>(*pid)) != nullptr;
}

std::vector<ServerHandle*> VisibleServers(const CommandCall& call) {
  auto servers = call.context.servers.All();
  std::erase_if(servers, [&](const ServerHandle* server) {
    return !call.context.access.MaySeeServerOf(call.caller, server->uid());
  });
  return servers;
}

ServerHandle* NamedServer(const CommandCall& call, size_t index, Access access) {
  const auto pid = control::ParseNumber(call.word(index));
  ServerHandle* const server = pid ? call.context.servers.Find(static_cast<pid_t>(*pid)) : nullptr;
  if (server == nullptr) {
    call.reply.Line(ServerNotFound(call.word(index)));
    return nullptr;
  }
  if (!(access == Access::kSee ? call.context.access.MaySeeServerOf(call.caller, server->uid())
                               : call.context.access.MayChangeServerOf(call.caller, server->uid()))) {
    const bool own = call.caller.served_as == server->uid();
    call.reply.Line(own ? fmt::format("Permission denied: server {} is shared with what runs outside of this container",
                                      server->pid())
                        : fmt::format("Permission denied: server {} belongs to user {}", server->pid(), server->uid()));
    return nullptr;
  }
  if (access == Access::kInstruct && !server->connected()) {
    call.reply.Line(
        fmt::format("Server {} is not connected to this daemon: it ends with its last client", server->pid()));
    return nullptr;
  }
  return server;
}

bool RequirePrivilege(const CommandCall& call) {
  if (call.caller.administrator) return true;
  const std::string who = geteuid() == 0 ? "root" : fmt::format("root and user {}", geteuid());
  const bool named = call.caller.uid == 0 || call.caller.uid == geteuid();
  call.reply.Line(
      fmt::format("Permission denied: {} is for {}{}", call.word(0), who, named ? " outside of containers" : ""));
  return false;
}

}  // namespace tutti::daemon::commands
