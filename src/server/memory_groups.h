// The collective memory limits of this server's clients (wire::MemoryGroupLimit): one account per name and device, kept
// while a client belongs to it. Main thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "device/memory_account.h"
#include "wire/server_messages.h"

namespace tutti::server {

class MemoryGroupTable {
 public:
  // The account of that name and device, created if no client belongs to it, with these limits from now on.
  std::shared_ptr<device::MemoryGroup> Join(const wire::MemoryGroupLimit& limit);
  // Changes the limits. False if no client belongs to it.
  bool Change(const wire::MemoryGroupLimit& limit);

 private:
  std::map<std::pair<std::string, uint32_t>, std::weak_ptr<device::MemoryGroup>> groups_;
};

// Whether it is above its soft limit, that is, has borrowed memory.
bool HasBorrowed(const device::MemoryGroup& group);
// Whether a client of these groups may evict others for `bytes` on `device`: it belongs to a group with a soft limit
// and would stay within all of its soft limits.
bool MayEvict(const device::MemoryGroups& groups, uint32_t device, uint64_t bytes);

}  // namespace tutti::server
