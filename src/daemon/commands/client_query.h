// Asking servers for their clients.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "daemon/command.h"
#include "daemon/control_daemon.h"

namespace tutti::daemon::commands {

struct ServerClients {
  pid_t server_pid = 0;
  std::string name;
  std::string policy;
  uid_t uid = 0;
  ServerState state = ServerState::kInitializing;
  ServerSettings settings;
  std::vector<wire::ServedDevice> devices;
  std::vector<wire::ClientStatus> clients;  // those that the caller may see
  std::string running;                      // kernels of all clients, one JSON object per line
  std::string error;                        // not empty: the server gave no answer
};

// Asks all of `servers` at once; `done` gets their answers in the same order. A server that is not ready has no clients.
void QueryClients(const CommandCall& call, const std::vector<ServerHandle*>& servers,
                  std::function<void(std::vector<ServerClients>)> done);

// The client of one of `servers` with this process id: its server's index, or -1.
int ServerOfClient(const std::vector<ServerClients>& servers, uint32_t client_pid);

// For commands that take the process id of a running client as word 1: calls `found` with its server and its entry (of its
// first device). Answers the call with "Server N not found" if nobody has that process id.
void WithClient(const CommandCall& call, std::function<void(ServerHandle&, const ServerClients&, const wire::ClientStatus&)> found);

// Process ids of all clients of all servers, whoever asks.
void WithLivingClients(const CommandCall& call, std::function<void(const std::set<uint32_t>&)> found);

// UUID text of a device of the server; "" if there is no such device.
std::string DeviceUuid(const ServerClients& server, uint32_t device);

// "0000F000:01:00.0"
std::string PciAddress(const wire::ServedDevice& device);

}  // namespace tutti::daemon::commands
