#include "daemon/clients/waiting_room.h"

#include <algorithm>
#include <utility>

namespace tutti::daemon {
namespace {

// Round-robin over the queues.
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
std::map<Key, std::vector<WaitingClient>> Sorted(std::vector<WaitingClient> clients, Key Holder::* key) {
  std::map<Key, std::vector<WaitingClient>> queues;
  for (WaitingClient& client : clients) queues[client.peer.holder().*key].push_back(std::move(client));
  return queues;
}

std::vector<WaitingClient> ProcessesByTurns(std::vector<WaitingClient> clients) {
  return ByTurns(Sorted(std::move(clients), &Holder::pid));
}

std::vector<WaitingClient> PartsByTurns(std::vector<WaitingClient> clients) {
  auto parts = Sorted(std::move(clients), &Holder::part);
  for (auto& [part, queue] : parts) queue = ProcessesByTurns(std::move(queue));
  return ByTurns(std::move(parts));
}

}  // namespace

std::optional<WaitingClient> WaitingRoom::Add(const std::string& server, WaitingClient client) {
  const uint64_t number = ++arrivals_;
  shares_.Add(number, client.peer.holder());
  clients_.emplace(number, Waiting{server, std::move(client)});
  if (clients_.size() <= most_clients_) return std::nullopt;
  const uint64_t goes = shares_.ToTakeBack();
  shares_.Remove(goes);
  return std::move(clients_.extract(goes).mapped().client);
}

std::vector<WaitingClient> WaitingRoom::Take(
    const std::function<bool(const std::string& server, const WaitingClient&)>& leaves) {
  std::vector<WaitingClient> taken;
  for (auto entry = clients_.begin(); entry != clients_.end();) {
    if (!leaves(entry->second.server, entry->second.client)) {
      ++entry;
      continue;
    }
    shares_.Remove(entry->first);
    taken.push_back(std::move(entry->second.client));
    entry = clients_.erase(entry);
  }
  return taken;
}

std::vector<WaitingClient> WaitingRoom::Empty(const std::string& server) {
  auto parties =
      Sorted(Take([&server](const std::string& waits_for, const WaitingClient&) { return waits_for == server; }),
             &Holder::party);
  for (auto& [party, queue] : parties) queue = PartsByTurns(std::move(queue));
  return ByTurns(std::move(parties));
}

bool WaitingRoom::HasAnyFor(const std::string& server) const {
  return std::ranges::any_of(clients_, [&server](const auto& entry) { return entry.second.server == server; });
}

void WaitingRoom::ForEach(const std::function<void(const WaitingClient&)>& visit) const {
  for (const auto& [number, waiting] : clients_) visit(waiting.client);
}

}  // namespace tutti::daemon
