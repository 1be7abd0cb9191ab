// The GPU device: the vendor's driver, in processes of its own (docs/adr/0016-executors-hold-the-vendors-context.md).
// No symbol of the vendor's is used here.
#pragma once

#include <memory>

#include "device/compile/fence_store.h"
#include "device/device.h"
#include "device/gpu/gpu_settings.h"
#include "os/spawner.h"

namespace tutti::device::gpu {

// Starts the first executor, which says what the device is; fails with its reason if there is none. `spawner`: its
// first program is settings.ProgramOf(). Destroy all Spaces before the backend.
// `fences`: kernels are fenced, and those of clients that share a context reach nothing of each other's; null: they run
// as they are.
Result<std::unique_ptr<Backend>> CreateGpuBackend(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner,
                                                  std::shared_ptr<FenceStore> fences = nullptr);

}  // namespace tutti::device::gpu
