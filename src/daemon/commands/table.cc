// The control language: one row per command. Names and answers are NVIDIA's where NVIDIA has the command.
#include "daemon/commands/commands.h"

#include <fmt/format.h>

#include <iterator>

namespace tutti::daemon {
namespace {

constexpr Command kCommands[] = {
    {"get_server_list", "", "process ids of the servers", commands::GetServerList},
    {"get_server_status", "PID", "INITIALIZING, ACTIVE or FAULT", commands::GetServerStatus},
    {"start_server", "-uid UID", "starts the server of a user ahead of its first client", commands::StartServer},
    {"shutdown_server", "PID [-f]", "ends a server with its last client, with -f at once", commands::ShutdownServer},
    {"get_client_list", "PID", "process ids of the clients of a server", commands::GetClientList},
    {"get_device_client_list", "[PID]", "devices, and the clients of each", commands::GetDeviceClientList},
    {"ps", "[-p PID]", "table of all clients, or of one server's", commands::Ps},
    {"terminate_client", "SERVER_PID CLIENT_PID", "ends a client's work; prints 0 when done", commands::TerminateClient},
    {"set_default_active_thread_percentage", "PERCENTAGE", "of servers started later", commands::SetDefaultActiveThreadPercentage},
    {"get_default_active_thread_percentage", "", "", commands::GetDefaultActiveThreadPercentage},
    {"set_active_thread_percentage", "PID PERCENTAGE", "PID a server: of its new clients; a client: of it, now", commands::SetActiveThreadPercentage},
    {"get_active_thread_percentage", "PID", "", commands::GetActiveThreadPercentage},
    {"set_default_device_pinned_mem_limit", "DEVICE SIZE", "of servers started later; SIZE as 2G or 512M", commands::SetDefaultDevicePinnedMemLimit},
    {"get_default_device_pinned_mem_limit", "DEVICE", "", commands::GetDefaultDevicePinnedMemLimit},
    {"set_device_pinned_mem_limit", "PID DEVICE SIZE", "PID a server: of its new clients; a client: of it, now", commands::SetDevicePinnedMemLimit},
    {"get_device_pinned_mem_limit", "PID DEVICE", "", commands::GetDevicePinnedMemLimit},
    {"set_default_client_priority", "0|1", "of clients that connect later: 0 normal, 1 below normal", commands::SetDefaultClientPriority},
    {"get_default_client_priority", "", "", commands::GetDefaultClientPriority},
    {"set_policy", "share|time_slice [PID]", "how clients share the device, of all servers or of one, now", commands::SetPolicy},
    {"get_policy", "", "", commands::GetPolicy},
    {"trace", "on|off|dump [FILE]", "records what runs on each SM; dump writes Chrome trace JSON", commands::Trace},
    {"report", "", "everything about servers and clients, as JSON", commands::Report},
    {"quit", "[-t SECONDS]", "ends the daemon with the last client, or with -t after that time", commands::Quit},
    {"help", "", "this list", commands::Help},
};

}  // namespace

void RunCommand(const CommandCall& call) {
  for (const Command& command : kCommands) {
    if (command.name == call.word(0)) return command.run(call);
  }
  call.reply.Line(fmt::format("Unknown command \"{}\"", call.word(0)));
}

void commands::Help(const CommandCall& call) {
  std::string text;
  for (const Command& command : kCommands) {
    const std::string form = fmt::format("{} {}", command.name, command.usage);
    fmt::format_to(std::back_inserter(text), "{:<56}{}\n", form, command.summary);
  }
  call.reply.Text(std::move(text));
}

}  // namespace tutti::daemon
