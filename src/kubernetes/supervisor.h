// The life of the plugin: devices from the daemon, a socket for each resource, registered again whenever the kubelet
// restarts, everything anew on SIGHUP, an orderly end on SIGTERM.
#pragma once

#include "base/error.h"
#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Runs until a signal ends it; once in a process. To be called before there are threads: it sets the environment the
// daemon is started with.
Status Supervise(const Options& options);

}  // namespace tutti::kubernetes
