#include "os/cores.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "os/core_masks.h"

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
  SystemMasks masks;
  return MoveThread(masks, thread, taken);
}

namespace {

constinit thread_local bool expects_moves = false;

}  // namespace

void ExpectMoves() { expects_moves = true; }
bool ExpectsMoves() { return expects_moves; }

void UseCoresOfThisProcess() {
  SystemMasks masks;
  cpu_set_t most;
  if (masks.Get(getpid(), &most)) WidenThread(masks, 0, most);
}

}  // namespace tutti::os
