// The kernels of the library, by name.
#pragma once

#include <string>

#include "libraries/common/device_code.h"

namespace tutti::fft {

// Lives as long as the process. Thread-safe.
libraries::Kernel& KernelOf(bool is_double, const std::string& name);

}  // namespace tutti::fft
