// The control language: one row per command. Names and answers are NVIDIA's where NVIDIA has the command.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "daemon/commands/commands.h"
#include "daemon/commands/v3/verb.h"

namespace tutti::daemon {
namespace {

constexpr Command kCommands[] = {
    {"get_server_list", "", "process ids of the servers", commands::GetServerList},
    {"get_server_status", "PID", "INITIALIZING, ACTIVE or FAULT", commands::GetServerStatus},
    {"start_server", "-uid UID [-mlopart]", "starts the server of a user ahead of its first client", commands::StartServer},
    {"shutdown_server", "PID [-f]", "ends a server with its last client, with -f at once", commands::ShutdownServer},
    {"get_client_list", "PID", "process ids of the clients of a server", commands::GetClientList},
    {"get_device_client_list", "[PID]", "devices, and the clients of each", commands::GetDeviceClientList},
    {"ps", "[-p PID]", "table of all clients, or of one server's", commands::Ps},
    {"terminate_client", "SERVER_PID CLIENT_PID", "ends a client's work; prints 0 when done", commands::TerminateClient},
    {"set_default_active_thread_percentage", "PERCENTAGE", "of servers started later", commands::SetDefaultActiveThreadPercentage},
    {"get_default_active_thread_percentage", "", "", commands::GetDefaultActiveThreadPercentage},
    {"set_active_thread_percentage", "PID PERCENTAGE", "PID a server: of its new clients; a client: of it, now", commands::SetActiveThreadPercentage, true},
    {"get_active_thread_percentage", "PID", "", commands::GetActiveThreadPercentage},
    {"set_default_device_pinned_mem_limit", "DEVICE SIZE", "of servers started later; SIZE as 2G or 512M", commands::SetDefaultDevicePinnedMemLimit},
    {"get_default_device_pinned_mem_limit", "DEVICE", "", commands::GetDefaultDevicePinnedMemLimit},
    {"set_device_pinned_mem_limit", "PID DEVICE SIZE", "PID a server: of its new clients; a client: of it, now", commands::SetDevicePinnedMemLimit, true},
    {"get_device_pinned_mem_limit", "PID DEVICE", "", commands::GetDevicePinnedMemLimit},
    {"set_default_client_priority", "0|1", "of clients that do not say: 0 normal, 1 below normal", commands::SetDefaultClientPriority},
    {"get_default_client_priority", "", "", commands::GetDefaultClientPriority},
    {"device_query", "[PID] [--csv]", "the devices, of one server or of all", commands::DeviceQuery},
    {"sm_partition", "add DEVICE CHUNKS | rm DEVICE ID", "static SM partitions (daemon started with -S)", commands::SmPartition},
    {"lspart", "", "table of SM partitions", commands::ListPartitions},
    {"set_client_priority", "PID 0|1", "of a running client, now", commands::SetClientPriority, true},
    {"set_client_kernel_time", "PID MILLISECONDS", "that a kernel of a running client may run; 0: for ever", commands::SetClientKernelTime, true},
    {"set_limit_scope", "process|container", "whether the programs of a container share its memory limit", commands::SetLimitScope, true},
    {"get_limit_scope", "", "", commands::GetLimitScope, true},
    {"claim", "add NAME DEVICES [threads=P] [memory=DEVICE=SIZE,..] [partitions=P,..] | rm NAME | require on|off | list",
     "what programs have that connect in the claim's directory, which is the answer to add", commands::Claim, true},
    {"set_policy", "share|priority|time_slice|partition [PID]", "how clients share the device, of all servers or of one, now", commands::SetPolicy, true},
    {"get_policy", "", "", commands::GetPolicy, true},
    {"trace", "on|off|dump [FILE]", "records what runs on each SM; dump writes Chrome trace JSON", commands::Trace, true},
    {"faults", "", "the last faults of the clients, one JSON object per line", commands::Faults, true},
    {"report", "", "everything about servers and clients, as JSON", commands::Report, true},
    {"rotate_logs", "", "all logs go on in new files, after theirs were renamed", commands::RotateLogs, true},
    {"upgrade", "", "goes on as the program that is installed now, in the same process", commands::Upgrade, true},
    {"quit", "[-t SECONDS]", "ends the daemon with the last client, or with -t after that time", commands::Quit, true},
    {"help", "[COMMAND]", "this list", commands::Help},
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
  if (call.daemon.options().protocol == 3 && (command == nullptr || !command->every_protocol)) return v3::Run(call);
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
