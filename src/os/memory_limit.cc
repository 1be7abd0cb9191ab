#include "os/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "os/proc_text.h"

namespace tutti::os {
namespace {

constexpr uint64_t kNone = ~0ull;

// No limit is "max" in version 2, and a number larger than any machine's memory in version 1.
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

}  // namespace

uint64_t CgroupMemoryLimit(std::string_view proc_cgroup, const std::string& root) {
  uint64_t least = kNone;
  for (const CgroupLine& line : CgroupLines(proc_cgroup)) {
    const std::string path(line.path);
    if (line.controllers.empty()) {
      least = std::min(least, LeastAbove(root, path, "memory.max"));
    } else if (line.Names("memory")) {
      least = std::min(least, LeastAbove(root + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

uint64_t MemoryOfThisProcess() {
  const auto machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, CgroupMemoryLimit(TextOf("/proc/self/cgroup"), "/sys/fs/cgroup"));
}

}  // namespace tutti::os
