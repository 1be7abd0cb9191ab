// The clients that wait for servers to start. Those of one server are let in by turns: of parties (visitor.h), of a
// party's parts, of a part's processes; so the flood of one delays the first client of another by no more than one of
// its own. The room is one for all servers, since a party may have many; when there is no more of it, whoever holds
// most makes some (fair_shares.h).
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

  // Returns the client that has to go for it, if one has.
  std::optional<WaitingClient> Add(const std::string& server, WaitingClient client);
  // Those that wait for the server, in the order in which they are let in.
  std::vector<WaitingClient> Empty(const std::string& server);
  // Those that `leaves` says of. As they arrived.
  std::vector<WaitingClient> Take(const std::function<bool(const std::string& server, const WaitingClient&)>& leaves);
  bool empty() const { return clients_.empty(); }
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
