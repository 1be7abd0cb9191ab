// Makes claims and takes them back: a claim's entry, its socket and its clients change together.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/access/claim.h"
#include "daemon/clients/client_broker.h"
#include "daemon/control/connection_table.h"
#include "daemon/servers/server_sockets.h"

namespace tutti::daemon {

// All that it refers to outlives it. Daemon thread only.
class ClaimRegistry {
 public:
  ClaimRegistry(ClaimTable& claims, ServerSockets& sockets, ClientBroker& broker, ConnectionTable& connections)
      : claims_(claims), sockets_(sockets), broker_(broker), connections_(connections) {}

  // Creates or changes the claim and returns its directory. The caller has checked that its devices exist.
  Result<std::string> Add(const Claim& claim);
  // Makes a claim of the previous daemon from its "claim add" command. Its devices were checked when it was created;
  // clients waiting in its socket are taken over before they could be checked again. False if the words are another
  // command's.
  bool Restore(const std::vector<std::string>& words);
  // Removes the claim's socket and directory; refuses its clients that have not been served yet.
  void Remove(const std::string& name);

 private:
  ClaimTable& claims_;
  ServerSockets& sockets_;
  ClientBroker& broker_;
  ConnectionTable& connections_;
};

}  // namespace tutti::daemon
