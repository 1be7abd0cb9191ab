// The GPU device's configuration: read once from the environment when the server starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "os/spawner.h"

namespace tutti::device::gpu {

// Which programs share an executor, and with it the vendor's context.
enum class Isolation : uint8_t {
  kProcess,  // none: hardware keeps their addresses apart
  kShared,  // those of one group (Limits::sharers)
  kAuto,  // the same, until one of them loads code that cannot be fenced: it moves to an executor of its own
};

struct GpuSettings {
  std::string executor;  // path of tutti-executor
  std::string vendor;  // TUTTI_VENDOR_LIBCUDA: path of the vendor's driver; default: the system's that is not ours
  Isolation isolation = Isolation::kProcess;
  bool fenced = false;  // kernels check their own addresses (compiler/fence): set where the backend has a FenceStore
  uint32_t most_shared = 32;  // programs in one executor: as many as a GPU has queues
  size_t most_programs = 60;  // at once: fewer than executors, of which one is kept ready (gpu_settings.cc)
  // Of pinned and staging memory (device/host_share.h).
  uint64_t host_bytes = ~0ull;  // of all clients
  uint64_t client_host_bytes = ~0ull;  // of one client

  // Fails, with what was looked for, if there is no driver of a vendor.
  static Result<GpuSettings> FromEnvironment();
  // Whether this machine has a GPU that its vendor's driver could use, or TUTTI_VENDOR_LIBCUDA is set.
  static bool HasGpu();

  // What a spawner must be given as its first program.
  os::Spawner::Program ProgramOf() const;
};

}  // namespace tutti::device::gpu
