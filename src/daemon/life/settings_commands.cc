#include "daemon/life/settings_commands.h"

#include <fmt/format.h>

#include "control/limits.h"

namespace tutti::daemon {
namespace {

void AddDefaults(const Defaults& defaults, std::vector<std::string>& commands) {
  // With all digits, unlike in answers.
  commands.push_back(fmt::format("set_default_active_thread_percentage {}", defaults.server.active_thread_percentage));
  for (const auto& [device, bytes] : defaults.server.memory_limits.entries()) {
    commands.push_back(fmt::format("set_default_device_pinned_mem_limit {} {}", device, control::FormatMemory(bytes)));
  }
  commands.push_back(fmt::format("set_default_client_priority {}", defaults.client_priority));
}

// " --key=0=2G,1=1G", or "" without limits.
std::string MemoryOption(std::string_view key, const control::MemoryLimits& limits) {
  std::string text;
  for (const auto& [device, bytes] : limits.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", device, control::FormatMemory(bytes));
  }
  return text.empty() ? "" : fmt::format(" --{}={}", key, text);
}

void AddServer(const NamedServer& server, std::vector<std::string>& commands) {
  const std::string& name = server.plan.name;
  commands.push_back(fmt::format("server create {} --uid={}{}{}", name, server.plan.uid,
                                 server.allowed_devices.empty() ? "" : " --allowed-devices=", server.allowed_devices));
  for (const auto& [name_space, limits] : server.namespaces) {
    if (name_space != kDefaultNamespace)
      commands.push_back(fmt::format("namespace create {} --server={}", name_space, name));
    std::string options = MemoryOption("pinned-memory-limit", limits.memory_limits);
    if (limits.active_thread_percentage)
      options += fmt::format(" --active-thread-percentage={}", *limits.active_thread_percentage);
    if (limits.client_priority) options += fmt::format(" --client-priority={}", *limits.client_priority);
    if (limits.memory_sharing)
      options += fmt::format(" --memory-sharing={}", control::MemorySharingName(*limits.memory_sharing));
    options += MemoryOption("collective-hard-limit", limits.collective.hard) +
               MemoryOption("collective-soft-limit", limits.collective.soft);
    if (!options.empty()) commands.push_back(fmt::format("namespace set {} --server={}{}", name_space, name, options));
  }
}

void AddAccounting(const MemoryAccounting& accounting, std::vector<std::string>& commands) {
  if (!accounting.enabled) commands.emplace_back("feature disable memacct");
  if (accounting.audit_log) commands.emplace_back("memacct set audit_log=true");
  for (const auto& [path, limits] : accounting.cgroups) {
    commands.push_back(fmt::format("memacct limit {}{}{}", path, MemoryOption("soft-limit", limits.soft),
                                   MemoryOption("hard-limit", limits.hard)));
  }
}

}  // namespace

std::vector<std::string> SettingsCommands(int protocol, const Defaults& defaults, const MemoryAccounting& accounting,
                                          const std::vector<NamedServer*>& servers) {
  std::vector<std::string> commands;
  if (protocol == 2) AddDefaults(defaults, commands);
  if (protocol == 3) {
    for (const NamedServer* server : servers) AddServer(*server, commands);
    AddAccounting(accounting, commands);
    if (!defaults.context_share) commands.emplace_back("feature disable context-share");
  }
  if (accounting.container_scope) commands.emplace_back("set_limit_scope container");
  if (defaults.memory_sharing != Defaults().memory_sharing)
    commands.push_back(fmt::format("set_memory_sharing {}", control::MemorySharingName(defaults.memory_sharing)));
  commands.push_back("set_policy " + defaults.policy);
  if (defaults.trace) commands.emplace_back("trace on");
  return commands;
}

}  // namespace tutti::daemon
