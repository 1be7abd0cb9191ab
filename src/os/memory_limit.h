// How much memory this process can use before the system takes something away: the machine's, or less where a cgroup
// says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::os {

uint64_t MemoryOfThisProcess();

// The least memory limit of the cgroup in `proc_cgroup` (text of /proc/self/cgroup) and of those above it, as far as
// they can be seen below `root` (/sys/fs/cgroup); ~0: none. Both versions of cgroups.
uint64_t CgroupMemoryLimit(std::string_view proc_cgroup, const std::string& root);

}  // namespace tutti::os
