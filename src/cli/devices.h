// The devices of this machine, asked of our own library.
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

// All of them, whatever a daemon or CUDA_VISIBLE_DEVICES would show: by a server of this process's own, which ends with
// it. Changes this process's environment; once per process.
Result<std::vector<Device>> ListDevices();

}  // namespace tutti::cli
