#include "client/memory/allocation_table.h"

namespace tutti::client {

AllocationTable& AllocationTable::Get() {
  static auto* const instance = new AllocationTable;
  return *instance;
}

AllocationTable::Map::const_iterator AllocationTable::Containing(uint64_t address) const {
  auto it = by_address_.upper_bound(address);
  if (it == by_address_.begin()) return by_address_.end();
  --it;
  return address - it->first < it->second.bytes ? it : by_address_.end();
}

bool AllocationTable::Insert(Allocation allocation) {
  std::unique_lock lock(mutex_);
  const auto next = by_address_.lower_bound(allocation.address);
  if (next != by_address_.end() && next->first - allocation.address < allocation.bytes) return false;
  if (Containing(allocation.address) != by_address_.end()) return false;
  allocation.id = next_id_++;
  by_address_.emplace(allocation.address, allocation);
  return true;
}

std::optional<Allocation> AllocationTable::Find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const auto it = Containing(address);
  if (it == by_address_.end()) return std::nullopt;
  return it->second;
}

std::optional<Allocation> AllocationTable::FindAtOnce(uint64_t address) const {
  std::shared_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return std::nullopt;
  const auto it = Containing(address);
  if (it == by_address_.end()) return std::nullopt;
  return it->second;
}

bool AllocationTable::Covers(uint64_t address, uint64_t bytes) const {
  std::shared_lock lock(mutex_);
  auto it = Containing(address);
  if (it == by_address_.end()) return false;
  uint64_t end = it->first + it->second.bytes;
  while (bytes > end - address && it->second.kind == AllocationKind::kVirtual) {
    if (++it == by_address_.end() || it->first != end || it->second.kind != AllocationKind::kVirtual) return false;
    end += it->second.bytes;
  }
  return bytes <= end - address;
}

std::vector<Allocation> AllocationTable::TakeAllOf(const Context& context) {
  std::vector<Allocation> taken;
  std::unique_lock lock(mutex_);
  for (auto it = by_address_.begin(); it != by_address_.end();) {
    if (it->second.context != &context || it->second.kind == AllocationKind::kModule ||
        it->second.kind == AllocationKind::kVirtual) {
      ++it;
      continue;
    }
    taken.push_back(it->second);
    it = by_address_.erase(it);
  }
  return taken;
}

}  // namespace tutti::client
