// The processor's cores.
#pragma once

#include <cstdint>

namespace tutti::os {

// In the affinity mask of this process's first thread; 1 if the system does not say. One system call, where sysconf
// reads files.
uint32_t CoresOfThisProcess();

}  // namespace tutti::os
