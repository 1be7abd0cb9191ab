// Starting, watching and ending processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace tutti::gpu {

struct ProcessPlan {
  std::vector<std::string> arguments;                               // [0] is the program's path
  std::vector<std::pair<std::string, std::string>> environment;     // set beside our own
  // {ours, the child's number}; close-on-exec otherwise
  std::vector<std::pair<int, int>> files;
  bool own_group = false;                                           // leads a new process group
};

// The process id; -1 if it cannot be started.
pid_t StartProcess(const ProcessPlan& plan);

struct Ending {
  bool ended = false;
  int status = 0;  // as wait gives it
};
// Waits for this child, at most so long; `interrupted`, if given, ends the wait when it becomes true.
Ending WaitFor(pid_t child, double seconds, const volatile bool* interrupted = nullptr);
// "exit status 1", "signal 11 (Segmentation fault)".
std::string Describe(int status);

// Makes orphans of this process's descendants its own children (once, at the start), and ends all children that are
// left. Those that do not end within two seconds are left behind: returns how many.
void AdoptOrphans();
int EndAllChildren();

// The absolute path of a program in PATH, in the usual places, or in one of `folders`; empty: not here.
std::string FindProgram(const std::string& name, const std::vector<std::string>& folders = {});

}  // namespace tutti::gpu
