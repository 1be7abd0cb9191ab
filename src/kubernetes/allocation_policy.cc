#include "kubernetes/allocation_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/replica_id.h"

namespace tutti::kubernetes {

Result<std::vector<std::string>> AllocationPolicy::Prefer(const std::vector<std::string>& available,
                                                          const std::vector<std::string>& must_include, int size) {
  if (size < 0 || static_cast<size_t>(size) > available.size()) {
    return Fail(fmt::format("not enough available devices to satisfy allocation: {} of {}", size, available.size()));
  }
  if (must_include.size() > static_cast<size_t>(size)) {
    return Fail(fmt::format("{} devices must be included in an allocation of {}", must_include.size(), size));
  }
  std::map<std::string, std::vector<std::string>> free;
  for (const std::string& id : available) free[ReplicaId::Parse(id).uuid].push_back(id);
  std::map<std::string, int64_t> used;
  for (const auto& [uuid, ids] : free) used[uuid] = total_[uuid] - static_cast<int64_t>(ids.size());

  std::vector<std::string> chosen;
  const auto take = [&](const std::string& uuid, const std::string& id) {
    std::vector<std::string>& ids = free[uuid];
    if (std::erase(ids, id) == 0) return false;
    ++used[uuid];
    last_turn_[uuid] = ++turn_;
    chosen.push_back(id);
    return true;
  };
  for (const std::string& id : must_include) {
    if (!take(ReplicaId::Parse(id).uuid, id))
      return Fail(fmt::format("device {} must be included but is not available", id));
  }
  while (chosen.size() < static_cast<size_t>(size)) {
    const std::string* best = nullptr;
    for (const auto& [uuid, ids] : free) {
      if (ids.empty()) continue;
      if (best == nullptr) {
        best = &uuid;
        continue;
      }
      const int64_t difference = packed_ ? used[*best] - used[uuid] : used[uuid] - used[*best];
      if (difference < 0 || (difference == 0 && last_turn_[uuid] < last_turn_[*best])) best = &uuid;
    }
    take(*best, std::string(free[*best].front()));
  }
  return chosen;
}

}  // namespace tutti::kubernetes
