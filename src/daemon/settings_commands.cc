#include "daemon/settings_commands.h"

#include <fmt/format.h>

#include "control/limits.h"

namespace tutti::daemon {

std::vector<std::string> SettingsCommands(const Defaults& defaults) {
  std::vector<std::string> commands;
  // With all digits, not as the answers show it.
  commands.push_back(fmt::format("set_default_active_thread_percentage {}", defaults.server.active_thread_percentage));
  for (const auto& [device, bytes] : defaults.server.memory_limits.entries()) {
    commands.push_back(fmt::format("set_default_device_pinned_mem_limit {} {}", device, control::FormatMemory(bytes)));
  }
  commands.push_back(fmt::format("set_default_client_priority {}", defaults.client_priority));
  commands.push_back("set_policy " + defaults.policy);
  if (defaults.trace) commands.emplace_back("trace on");
  return commands;
}

}  // namespace tutti::daemon
