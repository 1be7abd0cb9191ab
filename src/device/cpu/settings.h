// The CPU device's configuration: read once from the environment when the server starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "os/cores.h"

namespace tutti::device::cpu {

struct CpuSettings {
  uint32_t devices = 1;       // TUTTI_CPU_DEVICES
  std::vector<uint32_t> served;  // ordinals of those that are served, in this order; empty: all
  uint32_t sms = 1;           // TUTTI_CPU_SMS: per device; default: cores in the affinity mask
  // TUTTI_CPU_SM_GROUP: green contexts and partitions get SMs in multiples of it, as on a GPU (8 since Hopper)
  uint32_t sm_group = 1;
  uint32_t cores = os::CoresOfThisProcess();  // that the SMs' threads share
  uint64_t memory_bytes = 0;  // TUTTI_CPU_MEMORY: per device; default: half of what this process can have
  // Of pinned and staging memory, constants and images of modules (device/host_share.h). ~0: no limit.
  uint64_t host_bytes = ~0ull;  // TUTTI_CPU_HOST_MEMORY: of all clients; default: what devices and server leave
  uint64_t client_host_bytes = ~0ull;  // of one client
  // TUTTI_CPU_LOADED_KERNELS: of which a client has the code in memory (module_table.h)
  uint32_t loaded_kernels = 4096;
  // TUTTI_CPU_REACHABLE: whether clients may read and write the device's memory themselves. If not, as on a GPU, they
  // ask for copies, and host code that uses a device pointer faults.
  bool device_part_reachable = true;
  uint32_t nice = 5;  // TUTTI_CPU_NICE: of the SMs' threads, on top of the server's own; see worker.cc
  int32_t compute_major = 8;  // TUTTI_COMPUTE_CAPABILITY
  int32_t compute_minor = 0;

  // An error names the variable, its value and what would be valid.
  static Result<CpuSettings> FromEnvironment();
};

// "8G", "512M", "1024K", "1048576" (any case); nothing if it is none of these, zero or too large.
std::optional<uint64_t> ParseBytes(std::string_view text);

}  // namespace tutti::device::cpu
