// Brings clients to servers: a client that says hello is handed to the server of its user, waits while that one starts, or
// is refused with a CUresult and a line that says why. Daemon thread only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/server_table.h"
#include "os/socket.h"
#include "wire/messages.h"

namespace tutti::daemon {

struct WaitingClient {
  os::PeerCredentials peer;
  wire::Hello hello;
  os::Fd connection;
};

class ClientBroker {
 public:
  ClientBroker(ServerTable& servers, const Defaults& defaults, bool multi_user)
      : servers_(servers), defaults_(defaults), multi_user_(multi_user) {}

  void Arrived(WaitingClient client);
  void ServerReady(ServerHandle& server);
  void ServerFailed(uid_t uid, const std::string& why);

  // From now on every client is refused, those that wait included.
  void Close();

 private:
  void HandOver(ServerHandle& server, WaitingClient client);
  // All users share root's server in multi-user mode.
  uid_t ServingUser(uid_t client) const;

  ServerTable& servers_;
  const Defaults& defaults_;
  bool multi_user_;
  bool closed_ = false;
  std::map<uid_t, std::vector<WaitingClient>> waiting_;  // by serving user
};

}  // namespace tutti::daemon
