#include "server/memory_groups.h"

namespace tutti::server {

std::shared_ptr<device::MemoryGroup> MemoryGroupTable::Join(const wire::MemoryGroupLimit& limit) {
  std::erase_if(groups_, [](const auto& entry) { return entry.second.expired(); });
  auto& kept = groups_[{limit.name, limit.device}];
  auto group = kept.lock();
  if (group == nullptr) kept = group = std::make_shared<device::MemoryGroup>(limit.name, limit.device);
  group->hard_bytes = limit.hard_bytes;
  group->soft_bytes = limit.soft_bytes;
  return group;
}

bool MemoryGroupTable::Change(const wire::MemoryGroupLimit& limit) {
  const auto found = groups_.find({limit.name, limit.device});
  if (found == groups_.end() || found->second.expired()) return false;
  Join(limit);
  return true;
}

bool HasBorrowed(const device::MemoryGroup& group) { return group.used_bytes > group.soft_bytes; }

bool MayEvict(const device::MemoryGroups& groups, uint32_t device, uint64_t bytes) {
  bool may = false;
  for (const auto& group : groups) {
    if (group->device != device || group->soft_bytes == device::kNoMemoryLimit) continue;
    const uint64_t used = group->used_bytes, soft = group->soft_bytes;
    if (used > soft || bytes > soft - used) return false;
    may = true;
  }
  return may;
}

}  // namespace tutti::server
