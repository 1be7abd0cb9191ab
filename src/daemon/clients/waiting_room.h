// The queue of clients that wait for servers to start. Clients of one server are admitted round-robin over parties
// (visitor.h), over a party's parts, and over a part's processes, so one party's flood delays another's first client by
// at most one of its own. All servers share one queue, since a party may have many; when it is full, the largest holder
// loses a client (fair_shares.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/fair_shares.h"
#include "daemon/access/visitor.h"
#include "daemon/servers/server_catalog.h"
#include "os/close_aside.h"
#include "wire/messages.h"

namespace tutti::daemon {

struct WaitingClient {
  Visitor peer;
  wire::Hello hello;
  os::StrangersFd connection;
  Route route;
};

// Daemon thread only.
class WaitingRoom {
 public:
  // Each client holds a descriptor of ours.
  explicit WaitingRoom(size_t most_clients) : most_clients_(most_clients) {}

  // Returns the client that is displaced, if any.
  std::optional<WaitingClient> Add(const std::string& server, WaitingClient client);
  // Removes and returns the clients of the server, in order of admission.
  std::vector<WaitingClient> Empty(const std::string& server);
  // Removes and returns the clients that `leaves` selects, in order of arrival.
  std::vector<WaitingClient> Take(const std::function<bool(const std::string& server, const WaitingClient&)>& leaves);
  bool empty() const { return clients_.empty(); }
  bool HasAnyFor(const std::string& server) const;
  void ForEach(const std::function<void(const WaitingClient&)>& visit) const;

 private:
  struct Waiting {
    std::string server;
    WaitingClient client;
  };
  size_t most_clients_;
  std::map<uint64_t, Waiting> clients_;  // by arrival
  FairShares shares_;
  uint64_t arrivals_ = 0;
};

}  // namespace tutti::daemon
