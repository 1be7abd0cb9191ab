// The device a server serves, by the name given on its command line.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "device/device.h"

namespace tutti::server {

// "cpu" or "null". `visible`: CUDA_VISIBLE_DEVICES of the daemon, whose servers serve these alone, numbered from 0; null means
// all. Fails if this build has no such device, or the device cannot start.
Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, const char* visible);

}  // namespace tutti::server
