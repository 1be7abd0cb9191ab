#include "daemon/waiting_room.h"

#include <utility>

namespace tutti::daemon {
namespace {

// One of each queue, then the next of each.
template <typename Key>
std::vector<WaitingClient> ByTurns(std::map<Key, std::vector<WaitingClient>> queues) {
  std::vector<WaitingClient> all;
  for (size_t round = 0; !queues.empty(); ++round) {
    std::erase_if(queues, [round](const auto& queue) { return queue.second.size() <= round; });
    for (auto& [key, queue] : queues) all.push_back(std::move(queue[round]));
  }
  return all;
}

template <typename Key>
std::map<Key, std::vector<WaitingClient>> Sorted(std::vector<WaitingClient> clients, Key (*key_of)(const Visitor&)) {
  std::map<Key, std::vector<WaitingClient>> queues;
  for (WaitingClient& client : clients) queues[key_of(client.peer)].push_back(std::move(client));
  return queues;
}

pid_t Process(const Visitor& peer) { return peer.pid; }
std::string Cgroup(const Visitor& peer) { return peer.cgroup; }
uid_t User(const Visitor& peer) { return peer.uid; }

std::vector<WaitingClient> ProcessesByTurns(std::vector<WaitingClient> clients) {
  return ByTurns(Sorted(std::move(clients), &Process));
}

std::vector<WaitingClient> CgroupsByTurns(std::vector<WaitingClient> clients) {
  auto cgroups = Sorted(std::move(clients), &Cgroup);
  for (auto& [cgroup, queue] : cgroups) queue = ProcessesByTurns(std::move(queue));
  return ByTurns(std::move(cgroups));
}

}  // namespace

std::optional<WaitingClient> WaitingRoom::Add(WaitingClient client) {
  const uint64_t number = ++arrivals_;
  shares_.Add(number, {.uid = client.peer.uid, .cgroup = client.peer.cgroup, .pid = client.peer.pid});
  clients_.emplace(number, std::move(client));
  if (clients_.size() <= kMostClients) return std::nullopt;
  const uint64_t goes = shares_.ToTakeBack();
  shares_.Remove(goes);
  return std::move(clients_.extract(goes).mapped());
}

std::vector<WaitingClient> WaitingRoom::Empty() {
  std::vector<WaitingClient> arrived;
  for (auto& [number, client] : std::exchange(clients_, {})) arrived.push_back(std::move(client));
  shares_ = {};
  auto users = Sorted(std::move(arrived), &User);
  for (auto& [user, queue] : users) queue = CgroupsByTurns(std::move(queue));
  return ByTurns(std::move(users));
}

}  // namespace tutti::daemon
