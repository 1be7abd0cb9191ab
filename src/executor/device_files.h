// The device files of NVIDIA's driver, which it makes by a setuid program at its first use since the machine started.
// In a domain (confinement.h) it could neither start that program nor use files that were made later.
#pragma once

#include <string>

namespace tutti::executor {

struct DeviceFiles {
  std::string folder = "/dev";
  std::string program = "/usr/bin/nvidia-modprobe";
};

// Makes those that are missing: of unified memory, without which cuInit answers CUDA_ERROR_UNKNOWN, and of the first
// GPU. Nothing happens where all are there, or the program is not; if it fails, the driver's own error says so. Returns
// when the program has ended. Single-threaded processes only: waits for its child.
void MakeDeviceFiles(const DeviceFiles& files = {});

}  // namespace tutti::executor
