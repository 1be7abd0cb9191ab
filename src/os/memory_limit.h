// How much memory this process can use before the system reclaims or kills: the machine's, or less if a cgroup limits
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::os {

uint64_t MemoryOfThisProcess();

// The least memory limit of the cgroup in `proc_cgroup` (text of /proc/self/cgroup) and its ancestors, as far as they
// are visible below `root` (/sys/fs/cgroup); ~0: none. Handles cgroup v1 and v2.
uint64_t CgroupMemoryLimit(std::string_view proc_cgroup, const std::string& root);

}  // namespace tutti::os
