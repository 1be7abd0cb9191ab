#include "os/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace tutti::os {
namespace {

constexpr uint64_t kNone = ~0ull;

// "max" of version 2 is no number; version 1 says a number that no machine has.
uint64_t LimitIn(const std::string& file) {
  std::ifstream in(file);
  uint64_t bytes = 0;
  return in >> bytes ? bytes : kNone;
}

uint64_t LeastAbove(const std::string& root, std::string path, const char* file) {
  uint64_t least = kNone;
  for (;;) {
    least = std::min(least, LimitIn(root + path + "/" + file));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool Names(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == wanted) return true;
    controllers.remove_prefix(std::min(controllers.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

uint64_t CgroupMemoryLimit(std::string_view proc_cgroup, const std::string& root) {
  uint64_t least = kNone;
  while (!proc_cgroup.empty()) {
    const std::string_view line = proc_cgroup.substr(0, proc_cgroup.find('\n'));
    proc_cgroup.remove_prefix(std::min(proc_cgroup.size(), line.size() + 1));
    // number:controllers:path
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) {
      least = std::min(least, LeastAbove(root, path, "memory.max"));
    } else if (Names(controllers, "memory")) {
      least = std::min(least, LeastAbove(root + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

uint64_t MemoryOfThisProcess() {
  const auto machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/cgroup");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::min(machine, CgroupMemoryLimit(text, "/sys/fs/cgroup"));
}

}  // namespace tutti::os
