// The plugin's main loop: gets devices from the daemon, serves a socket per resource, registers again whenever the
// kubelet restarts, reloads everything on SIGHUP, and shuts down on SIGTERM.
#pragma once

#include "base/error.h"
#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Runs until a signal ends it; once per process. Call it before threads exist, since it sets the daemon's environment.
Status Supervise(const Options& options);

}  // namespace tutti::kubernetes
