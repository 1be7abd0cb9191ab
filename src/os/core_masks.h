// Which cores threads may use, by their masks: what MoveThread does to these (cores.h).
//
// A thread has a mask, which it or somebody has set, and may use those of its cores that are online and in its cpuset.
// The system tells only what it may use, but keeps what is set: a thread given what it may use now would be left with
// that when its cpuset grows. So one that has been narrowed for a moment is given all cores, and a mask only if that is
// more than it could use before: then somebody had restricted it.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstring>
#include <span>

namespace tutti::os {

// The operating system; simulated in tests. Thread 0 is the calling one.
struct SystemMasks {
  // The cores that the thread may use now.
  static bool Get(pid_t thread, cpu_set_t* cores) { return sched_getaffinity(thread, sizeof *cores, cores) == 0; }
  static bool Set(pid_t thread, const cpu_set_t& cores) { return sched_setaffinity(thread, sizeof cores, &cores) == 0; }
};

// The thread may use all cores that it is let, but for those beyond `most` if somebody has restricted it to these.
template <typename Masks>
void WidenThread(Masks& masks, pid_t thread, const cpu_set_t& most) {
  cpu_set_t any, more;
  memset(&any, 0xff, sizeof any);
  if (!masks.Set(thread, any) || !masks.Get(thread, &more)) return;
  CPU_OR(&more, &more, &most);
  // Fails if these have all been taken away meanwhile: then it may use the others.
  if (!CPU_EQUAL(&more, &most)) masks.Set(thread, most);
}

// MoveThread.
template <typename Masks>
bool MoveThread(Masks& masks, pid_t thread, std::span<const int> taken) {
  cpu_set_t all;
  if (!masks.Get(thread, &all)) return false;
  cpu_set_t others = all;
  for (const int core : taken) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(static_cast<size_t>(core), &others);
  }
  if (CPU_COUNT(&others) == 0 || !masks.Set(thread, others)) return false;
  WidenThread(masks, thread, all);
  return true;
}

}  // namespace tutti::os
