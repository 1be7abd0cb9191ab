// The device a server serves, by the name given on its command line.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "device/device.h"

namespace tutti::server {

// "cpu" or "null". For a server that is shared: with the devices alone that CUDA_VISIBLE_DEVICES of the daemon names,
// numbered from 0, and none of its clients may have more than half of the host memory. Fails if this build has no such
// device, or the device cannot start.
Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared);

}  // namespace tutti::server
