// Starting threads under resource limits.
//
// A thread's first allocation creates a malloc arena, for which glibc reserves 64 MiB of address space. If none is
// left, each allocation maps pages of its own until those run out too, and the first failed one ends the program. So
// each thread gets its arena (here: heap) before anything else, and threads that start after AwaitHeaps has returned
// share the existing ones.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "os/cores.h"

namespace tutti::os {

// Waits until each thread started here has a heap. A program calls it when it has started all threads it depends on,
// and before it admits anybody who may exhaust its memory. From then on no thread needs a new heap.
void AwaitHeaps();

// For TryStartThread: a thread is being started; it takes its heap; it could not be started.
void HeapIsDue();
void TakeHeap();
void HeapIsNotDue();

// Runs `body` in a new thread of this name (at most 15 characters), on the cores that the calling one may use, unless
// others move that (cores.h). The result is not joinable if the system has no resources for another thread (process
// limit, memory); the caller then does without it.
template <typename Body>
std::thread TryStartThread(const std::string& name, Body body) {
  HeapIsDue();
  try {
    std::thread thread([body = std::move(body), is_narrow = ExpectsMoves()]() mutable {
      TakeHeap();
      if (is_narrow) UseCoresOfThisProcess();
      body();
    });
    pthread_setname_np(thread.native_handle(), name.c_str());
    return thread;
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc
    HeapIsNotDue();
    return {};
  }
}

// The same for a thread that the program depends on: if it cannot be started, the program ends with status 1 and a line
// in its log.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  std::thread thread = TryStartThread(name, std::move(body));
  if (thread.joinable()) return thread;
  errno = EAGAIN;
  EndForLackOf("the thread " + name + " (raise the limit on processes: ulimit -u, or pids.max of the cgroup)");
}

}  // namespace tutti::os
