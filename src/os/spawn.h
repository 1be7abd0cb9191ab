// Starts a program from inside a host process that may have many threads and may wait for children of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tutti::os {

struct SpawnOptions {
  std::string path;                        // of the program; no search
  std::vector<std::string> arguments;      // including argv[0]
  std::vector<std::pair<int, int>> files;  // {ours, the child's number}; everything else is closed. Give 0, 1 and 2.
  // Not our child: it raises no SIGCHLD and wait() never sees it. For a library inside a host process.
  bool unnoticed = false;
  bool without_environment = false;
  std::vector<std::string> environment = {};  // "NAME=value", in place of ours of that name; "NAME": without
};

// Starts the program, with our environment unless it is to have none. LD_AUDIT is left out: auditing libraries, as
// `tutti run` sets one, are for the host process and what it starts itself. Returns its
// process id once exec has succeeded; fails if exec failed.
Result<pid_t> Spawn(const SpawnOptions& options);

}  // namespace tutti::os
