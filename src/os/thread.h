// Starting threads where the system may have no room for another one.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"

namespace tutti::os {

// Runs `body` in a new thread of this name (at most 15 characters). A thread that is not joinable: the system has no room
// for another (the limit on processes, memory); the caller goes on without it.
template <typename Body>
std::thread TryStartThread(const std::string& name, Body body) {
  try {
    std::thread thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name.c_str());
    return thread;
  } catch (const std::system_error&) {
    return {};
  }
}

// The same for a thread that the program cannot do without: where there is no room for it, the program ends with status 1 and
// a line in its log.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  std::thread thread = TryStartThread(name, std::move(body));
  if (thread.joinable()) return thread;
  errno = EAGAIN;
  EndForLackOf("the thread " + name + " (raise the limit on processes: ulimit -u, or pids.max of the cgroup)");
}

}  // namespace tutti::os
