// `tutti-device-plugin --run-daemon`: runs the control daemon in a container of its own, configured by the same file as
// the plugin, in the directory where the plugin expects it.
#pragma once

#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Execs the control daemon, in the foreground; returns only on failure.
Error RunDaemon(const Options& options);

}  // namespace tutti::kubernetes
