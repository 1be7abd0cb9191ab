// The control language: one row per command. Names and answers are NVIDIA's where NVIDIA has the command.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "daemon/commands/commands.h"
#include "daemon/commands/v3/verb.h"

namespace tutti::daemon {
namespace {

constexpr Command kCommands[] = {
    {"get_server_list", "", "lists the process ids of the servers", commands::GetServerList},
    {"get_server_status", "PID", "prints INITIALIZING, ACTIVE or FAULT", commands::GetServerStatus},
    {"start_server", "-uid UID [-mlopart]", "starts a user's server ahead of its first client", commands::StartServer},
    {"shutdown_server", "PID [-f]", "ends a server with its last client, with -f at once", commands::ShutdownServer},
    {"get_client_list", "PID", "lists the process ids of a server's clients", commands::GetClientList},
    {"get_device_client_list", "[PID]", "lists the devices, and the clients of each", commands::GetDeviceClientList},
    {"ps", "[-p PID]", "lists all clients, or those of one server", commands::Ps},
    {"terminate_client", "SERVER_PID CLIENT_PID", "ends a client's work; answers 0 when it has ended",
     commands::TerminateClient},
    {"set_default_active_thread_percentage", "PERCENTAGE", "limits the clients of servers that start later",
     commands::SetDefaultActiveThreadPercentage},
    {"get_default_active_thread_percentage", "", "prints the limit for clients of servers that start later",
     commands::GetDefaultActiveThreadPercentage},
    {"set_active_thread_percentage", "PID PERCENTAGE", "limits a server's clients, or one running client",
     commands::SetActiveThreadPercentage, true},
    {"get_active_thread_percentage", "PID", "prints the limit of a server's clients, or of a running client",
     commands::GetActiveThreadPercentage},
    {"set_default_device_pinned_mem_limit", "DEVICE SIZE",
     "limits the clients of servers that start later; SIZE as 2G or 512M", commands::SetDefaultDevicePinnedMemLimit},
    {"get_default_device_pinned_mem_limit", "DEVICE", "prints the limit for clients of servers that start later",
     commands::GetDefaultDevicePinnedMemLimit},
    {"set_device_pinned_mem_limit", "PID DEVICE SIZE", "limits a server's clients, or one running client",
     commands::SetDevicePinnedMemLimit, true},
    {"get_device_pinned_mem_limit", "PID DEVICE", "prints the limit of a server's clients, or of a running client",
     commands::GetDevicePinnedMemLimit},
    {"set_default_client_priority", "0|1", "sets the priority of clients that ask for none: 0 normal, 1 below normal",
     commands::SetDefaultClientPriority},
    {"get_default_client_priority", "", "prints it", commands::GetDefaultClientPriority},
    {"device_query", "[PID] [--csv]", "lists the devices of one server, or of all", commands::DeviceQuery},
    {"sm_partition", "add DEVICE CHUNKS | rm DEVICE ID",
     "creates or removes an SM partition (of a daemon started with -S)", commands::SmPartition},
    {"lspart", "", "lists the SM partitions", commands::ListPartitions},
    {"set_client_priority", "PID 0|1", "sets the priority of a running client", commands::SetClientPriority, true},
    {"set_client_kernel_time", "PID MILLISECONDS", "ends kernels of a running client that take longer; 0: none",
     commands::SetClientKernelTime, true},
    {"set_limit_scope", "process|container", "sets whether the programs of a container share one memory limit",
     commands::SetLimitScope, true},
    {"get_limit_scope", "", "prints process or container", commands::GetLimitScope, true},
    {"claim",
     "add NAME DEVICES [threads=P] [memory=DEVICE=SIZE,..] [partitions=P,..] | rm NAME | require on|off | list",
     "limits programs that connect in a claim's directory; add prints that directory", commands::Claim, true},
    {"set_memory_sharing", "off|user|all",
     "sets with whom clients that connect later may share memory (CUDA IPC), unless their namespace says otherwise",
     commands::SetMemorySharing, true},
    {"get_memory_sharing", "", "prints off, user or all", commands::GetMemorySharing, true},
    {"set_policy", "share|priority|time_slice|partition [PID]",
     "chooses how clients share the device, on all servers or on one", commands::SetPolicy, true},
    {"get_policy", "", "prints how clients share the device", commands::GetPolicy, true},
    {"trace", "on|off|dump [FILE]", "records what runs on each SM; dump writes Chrome trace JSON", commands::Trace,
     true},
    {"faults", "", "lists the last faults of the clients, one JSON object per line", commands::Faults, true},
    {"report", "", "reports all servers and clients, as JSON", commands::Report, true},
    {"device_share", "[threads=P] [memory=DEVICE=SIZE,..]", "reports what the caller may use of each device, as JSON",
     commands::DeviceShare, true},
    {"rotate_logs", "", "reopens all logs after their files were renamed", commands::RotateLogs, true},
    {"upgrade", "", "continues the daemon as the newly installed program, in the same process", commands::Upgrade,
     true},
    {"quit", "[-t SECONDS]", "stops the daemon with the last client, or with -t after that time", commands::Quit, true},
    {"help", "[COMMAND]", "lists the commands", commands::Help},
};

const Command* Find(std::string_view name) {
  const auto* const found = std::ranges::find(kCommands, name, &Command::name);
  return found == std::end(kCommands) ? nullptr : found;
}

std::string HelpLine(const Command& command) {
  return fmt::format("{:<56}  {}\n", fmt::format("{} {}", command.name, command.usage), command.summary);
}

}  // namespace

void RunCommand(const CommandCall& call) {
  const Command* const command = Find(call.word(0));
  if (call.context.options.protocol == 3 && (command == nullptr || !command->every_protocol)) return v3::Run(call);
  if (command != nullptr) return command->run(call);
  call.reply.Line(fmt::format("Unknown command \"{}\"", call.word(0)));
}

void commands::Help(const CommandCall& call) {
  std::string text;
  for (const Command& command : kCommands) {
    if (call.word(1).empty() || call.word(1) == command.name) text += HelpLine(command);
  }
  if (text.empty()) return call.reply.Line(fmt::format("Unknown command \"{}\"", call.word(1)));
  call.reply.Text(std::move(text));
}

std::string commands::HelpOfEveryProtocol() {
  std::string text;
  for (const Command& command : kCommands) {
    if (command.every_protocol) text += HelpLine(command);
  }
  return text;
}

}  // namespace tutti::daemon
