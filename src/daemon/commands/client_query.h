// Asking servers for their clients.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "daemon/commands/access.h"
#include "daemon/control/command.h"
#include "daemon/control/command_context.h"

namespace tutti::daemon::commands {

struct ServerClients {
  pid_t server_pid = 0;
  std::string name;
  std::string policy;
  uid_t uid = 0;
  ServerState state = ServerState::kInitializing;
  ServerSettings settings;
  std::vector<wire::ServedDevice> devices;
  std::vector<wire::ClientStatus> clients;  // those the caller may see
  std::string running;                      // kernels of all clients, one JSON object per line
  std::string error;                        // not empty: the server did not answer
  bool asked = false;                       // false: it is being adopted, and its clients are not known yet
};

// Asks all of `servers` at once; `done` gets their answers in the same order. A server that is not ready counts as
// having no clients.
void QueryClients(const CommandCall& call, const std::vector<ServerHandle*>& servers,
                  std::function<void(std::vector<ServerClients>)> done);

// A client process, with all its connections to one server.
struct ClientProcess {
  size_t server = 0;          // index of its server
  wire::ClientStatus first;   // its entry on its first device
  std::set<uint32_t> ids;     // the server's numbers for it
};

// The client that `word` names among those of `servers`: by its process id, or as SERVER:ID with both numbers as ps
// shows them. Nothing if there is none. If processes of several containers or users share the process id, an error that
// lists them, since then only SERVER:ID is unambiguous.
Result<std::optional<ClientProcess>> FindClient(const std::vector<ServerClients>& servers, std::string_view word);

// For commands that take a running client as word 1: calls `found` with its server. If there is none, answers the call
// with the text that `not_found` makes of the word.
void WithClient(const CommandCall& call,
                std::function<void(ServerHandle&, const ServerClients&, const ClientProcess&)> found,
                std::string (*not_found)(std::string_view) = ServerNotFound);

// Sends the server the same request for all connections of a client; `done` gets the first nonzero answer, or the last.
template <typename Body>
void AskAbout(ServerHandle& server, const ClientProcess& client, wire::MessageKind kind, Body body,
              std::function<void(const Result<wire::ServerReply>&)> done, uint64_t patience_ns = 5'000'000'000) {
  struct Gathering {
    Result<wire::ServerReply> answer;
    std::function<void(const Result<wire::ServerReply>&)> done;
    ~Gathering() { done(answer); }
  };
  const auto gathering = std::make_shared<Gathering>(wire::ServerReply{}, std::move(done));
  for (const uint32_t id : client.ids) {
    body.client = id;
    server.Ask(
        kind, body,
        [gathering](Result<ServerHandle::Reply> answer) {
          if (!gathering->answer || gathering->answer->status != 0) return;
          if (answer)
            gathering->answer = std::move(answer->body);
          else
            gathering->answer = std::unexpected(answer.error());
        },
        patience_ns);
  }
}

// All clients of all servers, whatever the caller's rights.
void WithLivingClients(const CommandCall& call, std::function<void(const LivingClients&)> found);

// UUID text of a device of the server; "" if there is no such device.
std::string DeviceUuid(const ServerClients& server, uint32_t device);

// "0000F000:01:00.0"
std::string PciAddress(const wire::ServedDevice& device);

}  // namespace tutti::daemon::commands
