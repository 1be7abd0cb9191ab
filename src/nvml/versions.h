// The versions that the library reports.
#pragma once

#include <string>

namespace tutti::nvml {

// "580.0": the number of the vendor's driver branch that brings our version of the driver API. Tools read it as major
// and minor number and choose functions by it.
inline std::string DriverVersion() { return "580.0"; }
// NVML's: the version of the interface, then the driver's.
inline std::string LibraryVersion() { return "13.580.0"; }

}  // namespace tutti::nvml
