// `tutti-device-plugin --run-daemon`: the control daemon in a container of its own, at the place where the plugin of
// the same configuration looks for it, and started as the configuration says.
#pragma once

#include "kubernetes/options.h"

namespace tutti::kubernetes {

// Becomes the control daemon, in the foreground; returns only if that fails.
Error RunDaemon(const Options& options);

}  // namespace tutti::kubernetes
