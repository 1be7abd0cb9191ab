// Where the vendor's driver is.
#pragma once

#include <string>

namespace tutti::gpu {

// It is this project's library, by the symbol that only that exports.
bool IsOurs(const std::string& library);

struct FoundDriver {
  std::string path;     // empty: there is none
  std::string looked;   // where it was looked for, and what was there instead
};
// The loader's cache, then the usual places; never a library of ours.
FoundDriver FindDriver();

// There is a device file of a GPU.
bool HasDeviceFile();

// NVIDIA's own program of this name (nvidia-cuda-mps-control), never ours. Empty: not here.
std::string FindNvidiaProgram(const std::string& name);

}  // namespace tutti::gpu
