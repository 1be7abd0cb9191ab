// The clients that wait for one server to start. They are let in by turns: of users, of a user's cgroups, of a cgroup's
// processes; so the flood of one delays the first client of another by no more than one of its own. When there is no more
// room, whoever holds most of it makes some (fair_shares.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fair_shares.h"
#include "daemon/server_catalog.h"
#include "daemon/visitor.h"
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
  static constexpr size_t kMostClients = 4096;  // each holds a descriptor of ours

  // Returns the client that has to go for it, if one has.
  std::optional<WaitingClient> Add(WaitingClient client);
  // All of them, in the order in which they are let in.
  std::vector<WaitingClient> Empty();

 private:
  std::map<uint64_t, WaitingClient> clients_;  // by arrival
  FairShares shares_;
  uint64_t arrivals_ = 0;
};

}  // namespace tutti::daemon
