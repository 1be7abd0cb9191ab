// Starts the daemon in the background or in the foreground.
#pragma once

#include "daemon/control/control_daemon.h"

namespace tutti::daemon {

// Starts the daemon as a background process and returns once it answers: 0, or 1 after a line that says what is wrong.
int StartInBackground(const DaemonOptions& options);

// Serves in this process until the daemon ends; its log goes to stdout as well.
int RunInForeground(const DaemonOptions& options);

}  // namespace tutti::daemon
