// A whole run: sections in their order, each within its share of the time, each step a process with a limit.
#pragma once

#include <set>
#include <string>

#include "frame/probe.h"
#include "frame/settings.h"

namespace tutti::gpu {

// Why a run could not begin or how it ended; also the program's exit status.
enum class Verdict {
  kComplete = 0,
  kFailed = 1,        // the run itself: no scratch directory, no process
  kUsage = 2,
  kNoDevice = 3,      // no driver, no GPU, or a driver that does not start
  kInUse = 4,         // another process has a context on the device
  kComputeMode = 5,   // the device may not be shared
  kFull = 6,          // too little free memory
  kNoOutput = 7,      // the results cannot be written
  kInterrupted = 130,
};

struct RunPlan {
  Settings settings;
  double minutes = 9;
  std::set<std::string> only;  // sections and probes; empty: all
  std::string out;
  bool shared_anyway = false;
};

Verdict RunAll(RunPlan plan);

// For the child processes: the named step ("section/probe/step"), or a role of the probe of the step that it belongs
// to.
int RunStep(const std::string& step);
int RunPeer(const std::string& role, const std::string& argument);

}  // namespace tutti::gpu
