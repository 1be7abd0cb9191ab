// The device a server serves, by the name given on its command line.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "device/compile/compiler_host.h"
#include "device/device.h"

namespace tutti::server {

// What compiles for the device, by the environment; null if nothing is compiled for it. To be started before the server
// confines itself.
Result<std::shared_ptr<device::CompilerHost>> StartCompilerHost(std::string_view device);

// "cpu" or "null". For a server that is shared: with the devices alone that CUDA_VISIBLE_DEVICES of the daemon names,
// numbered from 0, and none of its clients may have more than half of the host memory. Fails if this build has no such
// device, or the device cannot start.
Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared,
                                                       std::shared_ptr<device::CompilerHost> compilers);

}  // namespace tutti::server
