// Exports the scheduler's trace in Chrome's format.
#pragma once

#include <string>

#include "base/error.h"
#include "device/device.h"

namespace tutti::server {

// Writes the backend's trace since the last call into the memory file `file` (os/filled_memory.h): one JSON object per
// line, not separated by commas.
Status WriteTrace(device::Backend& backend, int file);

// One event. Labels are "<pid> <program>", as sessions name their spaces.
std::string TraceLine(const device::Backend::TraceEvent& event);

}  // namespace tutti::server
