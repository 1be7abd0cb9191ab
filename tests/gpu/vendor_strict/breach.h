// What the strict driver says of calls that break a rule of the vendor's documentation.
//
// Each breach is a line "RULE: text" at the end of the file that TUTTI_STRICT_LOG names, which is opened as the library
// is loaded: a process may confine itself later.
#pragma once

#include <string>

namespace tutti::gpu::strict {

// Writes the line and returns `status`, which is what the vendor's driver documents for that. Thread-safe.
int Breach(const char* rule, int status, const std::string& text);

// Whether a word stands in TUTTI_STRICT_MODES, a list with commas between: what the documentation leaves to a driver.
//   other_addresses   reservations are never where they are wished
//   quiet_events      events that are recorded nowhere say nothing of what kernels have done to the context
//   fills_wait        a fill waits for all kernels that have been launched before it, as for room on the device
//   no_odd_pitches    copies of rows within the device take pitches of cuMemAllocPitch only
bool Has(const char* mode);

std::string Hex(unsigned long long value);

}  // namespace tutti::gpu::strict
