#include "daemon/access/fair_shares.h"

namespace tutti::daemon {

void FairShares::Add(uint64_t item, const Holder& holder) {
  const Path path{holder.party, holder.part, std::to_string(holder.pid)};
  Change(all_, path, 0, item, true);
  paths_.emplace(item, path);
}

void FairShares::Remove(uint64_t item) {
  const auto path = paths_.extract(item);
  if (!path.empty()) Change(all_, path.mapped(), 0, item, false);
}

void FairShares::Change(Group& group, const Path& path, size_t depth, uint64_t item, bool add) {
  group.size += add ? 1 : -1;
  if (depth == path.size()) {
    add ? (void)group.items.insert(item) : (void)group.items.erase(item);
    return;
  }
  const std::string& name = path[depth];
  Group& part = group.parts[name];
  group.by_size.erase({part.size, name});
  Change(part, path, depth + 1, item, add);
  if (part.size > 0) {
    group.by_size.emplace(part.size, name);
  } else {
    group.parts.erase(name);
  }
}

uint64_t FairShares::ToTakeBack() const {
  const Group* group = &all_;
  while (!group->by_size.empty()) group = &group->parts.at(group->by_size.rbegin()->second);
  return group->items.empty() ? 0 : *group->items.begin();
}

}  // namespace tutti::daemon
