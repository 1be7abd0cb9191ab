// Creates the device backend that the server's command line names.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "device/compile/compiler_host.h"
#include "device/device.h"

namespace tutti::server {

// The compiler host for the device, configured by the environment; null for a device that compiles nothing. Start it
// before the server confines itself.
Result<std::shared_ptr<device::CompilerHost>> StartCompilerHost(std::string_view device);

// "cpu" or "null". In a shared server the backend has only the devices that the daemon's CUDA_VISIBLE_DEVICES names,
// numbered from 0, and no client gets more than half of the host memory. Fails if this build has no such device or the
// device cannot start.
Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared,
                                                       std::shared_ptr<device::CompilerHost> compilers);

}  // namespace tutti::server
