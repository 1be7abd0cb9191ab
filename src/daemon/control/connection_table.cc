#include "daemon/control/connection_table.h"

#include <sys/resource.h>

#include <algorithm>

namespace tutti::daemon {
namespace {

constexpr size_t kMaxConnections = 4096;
constexpr size_t kDescriptorsPerConnection = 4;
// The bound on unread answers of all shells of one party together; a single shell always gets this much.
constexpr size_t kMaxUnreadBytes = 16 << 20;

}  // namespace

size_t MaxConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxConnections;
  return std::clamp<size_t>(limit.rlim_cur / kDescriptorsPerConnection, 1, kMaxConnections);
}

ConnectionTable::ConnectionTable(EventLoop& loop, LogBudget& log, Connection::Use use, size_t most)
    : log_(log),
      keeper_{.loop = loop,
              .log = log,
              .use = std::move(use),
              .may_leave_unread = [this](const Visitor& visitor) { return MayLeaveUnread(visitor); },
              .visitor_changed = [this](uint64_t id) { CountAnew(id); },
              .ended = [this](uint64_t id) { Remove(id); }},
      most_(most) {}

void ConnectionTable::Admit(os::StrangersFd socket, Visitor visitor, Route route, bool later) {
  const uint64_t id = next_++;
  FairShares& places = places_[visitor.administrator];
  while (places.size() >= most_) MakeRoomAmong(places);
  if (places.size() > most_ / 2 || keeper_.use.needs_cgroups()) keeper_.use.learn_cgroup(visitor, socket.get());
  places.Add(id, visitor.holder());
  const auto connection =
      std::make_shared<Connection>(keeper_, id, std::move(visitor), std::move(socket), std::move(route));
  connections_.emplace(id, connection);
  if (!later) connection->HearFirst();
  if (connections_.contains(id)) connection->Start();
}

void ConnectionTable::CountAnew(uint64_t connection) {
  const Visitor& visitor = connections_.at(connection)->visitor();
  FairShares& places = places_[visitor.administrator];
  places.Remove(connection);
  places.Add(connection, visitor.holder());
}

void ConnectionTable::MakeRoom() { MakeRoomAmong(places_[places_[0].size() > 0 ? 0 : 1]); }

// The newcomer is served; the party with the most connections loses one.
void ConnectionTable::MakeRoomAmong(FairShares& places) {
  const uint64_t id = places.ToTakeBack();
  if (id == 0) return;
  const std::string party = connections_.at(id)->visitor().party();
  log_.Info(party, "A connection of {} is closed: there are too many, and it has the most", party);
  Remove(id);
}

void ConnectionTable::Remove(uint64_t connection) {
  for (FairShares& places : places_) places.Remove(connection);
  connections_.erase(connection);
}

void ConnectionTable::RemoveAll(const std::function<bool(const Connection&)>& which) {
  std::vector<uint64_t> leave;
  for (const auto& [id, connection] : connections_) {
    if (which(*connection)) leave.push_back(id);
  }
  for (const uint64_t id : leave) Remove(id);
}

void ConnectionTable::CloseShells() {
  RemoveAll([](const Connection& connection) { return !connection.silent(); });
}

void ConnectionTable::CloseAllOf(const std::string& claim) {
  RemoveAll([&claim](const Connection& connection) { return connection.visitor().claim == claim; });
}

bool ConnectionTable::busy() const {
  return std::ranges::any_of(connections_, [](const auto& entry) { return entry.second->busy(); });
}

std::vector<int> ConnectionTable::sockets() const {
  std::vector<int> sockets;
  for (const auto& [id, connection] : connections_) sockets.push_back(connection->socket());
  return sockets;
}

bool ConnectionTable::MayLeaveUnread(const Visitor& visitor) const {
  if (visitor.administrator) return true;
  size_t bytes = 0;
  const std::string party = visitor.party();
  for (const auto& [id, connection] : connections_) {
    if (connection->unread_bytes() > 0 && connection->visitor().party() == party) bytes += connection->unread_bytes();
  }
  return bytes <= kMaxUnreadBytes;
}

}  // namespace tutti::daemon
