// A Landlock domain: what a process may no longer do to files and to other processes, for good.
//
// A seccomp filter (os/confinement/call_filter.h) sees numbers, not paths, so it cannot deny /proc/PID/mem. A domain
// does, since a process inside may not trace one outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::os {

struct Domain {
  bool starts_programs = false;
  // Files are written, made and removed below these alone; those that there are not, do not matter. Nothing: anywhere.
  std::optional<std::vector<std::string>> written_below;
};

// This thread, and those it creates, can no longer trace or inspect (by /proc either) processes outside, or create
// device nodes, or do what `domain` denies. Where the kernel supports it, they cannot signal processes outside or
// connect to abstract sockets either. Also sets NO_NEW_PRIVS. Fails without Landlock.
//
// A no-op in sanitizer builds, whose run-time inspects its own process.
Status EnterDomain(const Domain& domain);

}  // namespace tutti::os
