// Starting threads where the system may have no room for another one.
//
// A thread's first allocation gets it a heap of its own, for which glibc takes 64 MiB of address space. Where there is
// none left by then, each allocation takes pages of its own until there are none of those either, and the first that
// fails ends the program. So a thread has its heap before it does anything else, and those that start when AwaitHeaps
// has returned share the heaps that are there.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"

namespace tutti::os {

// Waits until each thread that has been started here has a heap: when a program has all that it cannot do without, and
// before it lets anybody in who may use up its memory. From then on no thread needs room for another heap.
void AwaitHeaps();

// For TryStartThread: a thread is being started; it takes its heap, or there is no thread.
void HeapIsDue();
void TakeHeap();
void HeapIsNotDue();

// Runs `body` in a new thread of this name (at most 15 characters). A thread that is not joinable: the system has no
// room for another (the limit on processes, memory); the caller goes on without it.
template <typename Body>
std::thread TryStartThread(const std::string& name, Body body) {
  HeapIsDue();
  try {
    std::thread thread([body = std::move(body)]() mutable {
      TakeHeap();
      body();
    });
    pthread_setname_np(thread.native_handle(), name.c_str());
    return thread;
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc
    HeapIsNotDue();
    return {};
  }
}

// The same for a thread that the program cannot do without: where there is no room for it, the program ends with status
// 1 and a line in its log.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  std::thread thread = TryStartThread(name, std::move(body));
  if (thread.joinable()) return thread;
  errno = EAGAIN;
  EndForLackOf("the thread " + name + " (raise the limit on processes: ulimit -u, or pids.max of the cgroup)");
}

}  // namespace tutti::os
