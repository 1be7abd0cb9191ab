// Accounts for the holders of a limited resource (connection slots), and chooses the victim when it is exhausted: of
// the party (daemon/access/visitor.h) that holds most, of its part that holds most, of the process that holds most, the
// oldest item.
//
// So a newcomer always gets in at the cost of the largest holder. A quota per party instead would let one program lock
// out all others of its user. Daemon thread only.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace tutti::daemon {

struct Holder {
  std::string party;
  std::string part;  // a user's cgroup, a container's user
  pid_t pid = 0;
};

class FairShares {
 public:
  // `item` is not held. A smaller number is older, whenever it is added.
  void Add(uint64_t item, const Holder& holder);
  void Remove(uint64_t item);  // no-op if it is not held
  size_t size() const { return all_.size; }
  // The item to revoke; 0: nobody holds any.
  uint64_t ToTakeBack() const;

 private:
  struct Group {
    size_t size = 0;
    std::map<std::string, Group> parts;
    std::set<std::pair<size_t, std::string>> by_size;  // of the parts
    std::set<uint64_t> items;  // of a process
  };
  using Path = std::array<std::string, 3>;  // party, part, process

  static void Change(Group& group, const Path& path, size_t depth, uint64_t item, bool add);

  Group all_;
  std::unordered_map<uint64_t, Path> paths_;
};

}  // namespace tutti::daemon
