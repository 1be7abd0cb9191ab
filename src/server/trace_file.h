// What ran where, as the lines of a Chrome trace.
#pragma once

#include <string>

#include "base/error.h"
#include "device/device.h"
#include "os/fd.h"

namespace tutti::server {

// The backend's trace since it was last taken, as a sealed memory file: one JSON object per line, without commas
// between.
Result<os::Fd> TakeTraceFile(device::Backend& backend);

// One event. Labels are "<pid> <program>", as sessions name their spaces.
std::string TraceLine(const device::Backend::TraceEvent& event);

}  // namespace tutti::server
