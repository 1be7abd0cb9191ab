// The devices without a daemon: those of the private server that a program of this process would get.
#pragma once

#include <vector>

#include "base/error.h"
#include "nvml/view.h"

namespace tutti::nvml {

// Starts a private server, which ends before this returns, the first time only: what it has said is kept for the life
// of the process. Compute modes are left out. Thread-safe.
Result<std::vector<Device>> PrivateDevices();

}  // namespace tutti::nvml
