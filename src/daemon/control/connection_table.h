// The accepted connections: shells, and peers whose first message is still to come. Their number is bounded, separately
// for administrators and for all others: neither can exhaust the others' places. A newcomer always gets in: when all
// places are taken, the party that holds most loses a connection (daemon/access/fair_shares.h). Daemon thread only.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_budget.h"
#include "daemon/access/fair_shares.h"
#include "daemon/control/connection.h"

namespace tutti::daemon {

// What the limit on descriptors leaves for connections; the rest is for servers and waiting clients.
size_t MaxConnections();

class ConnectionTable {
 public:
  // `most`: connections of administrators, and of all others.
  ConnectionTable(EventLoop& loop, LogBudget& log, Connection::Use use, size_t most);
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // A newcomer's cgroup is learned if it keeps its place for a moment; at once if more than half of the places are
  // taken, so that a flood is told apart from its user's other programs, or if memory is accounted by cgroup.
  // A first message that is there is handled before this returns, unless `later`: then the loop does.
  void Admit(os::StrangersFd socket, Visitor visitor, Route route, bool later = false);
  // Closes a connection for the sake of its descriptor; one of an administrator only if there is no other.
  void MakeRoom();

  // A shell waits for the answer to a command.
  bool busy() const;
  void CloseShells();
  void CloseAllOf(const std::string& claim);
  void CloseAll() { connections_.clear(); }
  std::vector<int> sockets() const;

 private:
  void MakeRoomAmong(FairShares& places);
  bool MayLeaveUnread(const Visitor& visitor) const;
  void CountAnew(uint64_t connection);  // its visitor has changed
  void Remove(uint64_t connection);
  // Those that `which` selects.
  void RemoveAll(const std::function<bool(const Connection&)>& which);

  LogBudget& log_;
  const Connection::Keeper keeper_;
  const size_t most_;
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections_;
  std::array<FairShares, 2> places_;  // by Visitor::administrator
  uint64_t next_ = 1;
};

}  // namespace tutti::daemon
