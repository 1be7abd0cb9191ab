#include "os/cores.h"

#include <sched.h>

namespace tutti::os {

uint32_t CoresOfThisProcess() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  const int count = CPU_COUNT(&cores);
  return count < 1 ? 1 : static_cast<uint32_t>(count);
}

}  // namespace tutti::os
