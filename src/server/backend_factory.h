// Creates the device backend that the server's command line names.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/gpu_settings.h"
#include "os/spawner.h"

namespace tutti::server {

// The device that a name means: "auto" is "cuda" where this machine has a GPU with its vendor's driver, else "cpu".
std::string_view ResolveDevice(std::string_view name);

// What starts the programs that the device needs, compilers or executors, configured by the environment; null for a
// device that needs none. Start it before the server confines itself.
Result<std::shared_ptr<os::Spawner>> StartSpawner(std::string_view device);

// "cpu", "cuda" or "null". In a shared server a CPU backend has only the devices that CUDA_VISIBLE_DEVICES names to it,
// numbered from 0, and no client gets more than half of the host memory. `isolation`: of a GPU's clients; those of a
// server that is not shared have nobody to share with. `trust`: where they share a context their kernels run as they
// are, else fenced. Fails if this build has no such device or the device cannot start.
Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared,
                                                       device::gpu::Isolation isolation, bool trust,
                                                       std::shared_ptr<os::Spawner> spawner);

}  // namespace tutti::server
