// The devices of this machine, queried through our own library.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::cli {

struct Device {
  int ordinal = 0;
  std::string uuid;  // "GPU-..."
  std::string name;
  int sm_count = 0;
  uint64_t total_bytes = 0;
};

// All devices, whatever a daemon or CUDA_VISIBLE_DEVICES would show: uses a private server, which ends with this
// process. Changes this process's environment; once per process.
Result<std::vector<Device>> ListDevices();

}  // namespace tutti::cli
