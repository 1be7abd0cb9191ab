#include "os/cores.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace tutti::os {

uint32_t CoresOfThisProcess() {
  constexpr int kMost = 1 << 16;
  for (int most = CPU_SETSIZE; most <= kMost; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> cores(CPU_ALLOC(most),
                                                                 [](cpu_set_t* set) { CPU_FREE(set); });
    const size_t bytes = CPU_ALLOC_SIZE(most);
    if (cores == nullptr) return 1;
    // Of the process's first thread: one that calls here may be pinned to a core of its own.
    if (sched_getaffinity(getpid(), bytes, cores.get()) == 0) {
      const int count = CPU_COUNT_S(bytes, cores.get());
      return count < 1 ? 1 : static_cast<uint32_t>(count);
    }
    if (errno != EINVAL) return 1;  // EINVAL: the system has more
  }
  return 1;
}

int CoreOfThisThread() { return sched_getcpu(); }

bool MoveThread(pid_t thread, std::span<const int> taken) {
  static const int online = get_nprocs();
  cpu_set_t all, any;
  memset(&any, 0xff, sizeof any);
  if (sched_getaffinity(thread, sizeof all, &all) != 0) return false;
  cpu_set_t others = all;
  for (const int core : taken) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(static_cast<size_t>(core), &others);
  }
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(thread, sizeof others, &others) != 0) return false;
  // Whoever is not restricted may use cores that come later, too; whose cores have just been taken away, the others.
  const bool is_restricted = CPU_COUNT(&all) < online;
  if (!is_restricted || sched_setaffinity(thread, sizeof all, &all) != 0) sched_setaffinity(thread, sizeof any, &any);
  return true;
}

}  // namespace tutti::os
