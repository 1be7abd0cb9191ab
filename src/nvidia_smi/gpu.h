// A device and its processes, as NVML describes them, without what NVML does not know.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "nvml/abi.h"

namespace tutti::nvidia_smi {

struct GpuProcess {
  uint32_t pid = 0;
  bool mps = false;   // a client of the daemon
  std::string name;   // its first argument; "[Not Found]" if it cannot be looked up
  std::optional<uint64_t> used_bytes;
  std::optional<unsigned> sm_percent;
  std::string type() const { return mps ? "M+C" : "C"; }
};

struct Gpu {
  nvmlDevice_t handle = nullptr;
  unsigned index = 0;
  std::string name, uuid, bus_id;
  unsigned pci_domain = 0, pci_bus = 0, pci_device = 0;
  std::optional<unsigned> minor_number, gpu_percent, multiprocessors;
  std::optional<nvmlMemory_v2_t> memory;
  std::optional<int> compute_mode;
  std::optional<bool> persistence, display;
  std::string compute_capability;
  std::vector<GpuProcess> processes;
};

struct System {
  std::string driver_version;
  std::string cuda_version;
  unsigned gpus = 0;  // all of them
};

// What NVML answered instead.
template <typename T>
using Answer = std::expected<T, nvmlReturn_t>;

Answer<System> ReadSystem();
// All devices, or those that `ids` name: indices, UUIDs, PCI addresses. NVML_ERROR_NOT_FOUND if one of them is none.
Answer<std::vector<Gpu>> ReadGpus(const std::vector<std::string>& ids);

const char* ComputeModeName(int mode);  // "Default", "Prohibited", "Exclusive_Process"

}  // namespace tutti::nvidia_smi
