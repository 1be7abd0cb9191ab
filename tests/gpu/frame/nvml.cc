#include "frame/nvml.h"

#include <dlfcn.h>

namespace tutti::gpu {
namespace {

struct ProcessInfo {  // of the _v2 and _v3 calls
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
struct Memory {
  unsigned long long total, free, used;
};

template <typename... P>
int Ask(void* library, const char* name, P... arguments) {
  const auto function = reinterpret_cast<int (*)(P...)>(dlsym(library, name));
  return function == nullptr ? -1 : function(arguments...);
}

}  // namespace

std::optional<Nvml> Nvml::Open(const std::string& pci, const std::string& library) {
  Nvml nvml;
  nvml.library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml.library_ == nullptr || Ask(nvml.library_, "nvmlInit_v2") != 0) return std::nullopt;
  if (Ask(nvml.library_, "nvmlDeviceGetHandleByPciBusId_v2", pci.c_str(), &nvml.device_) != 0) return std::nullopt;
  return nvml;
}

std::optional<std::vector<unsigned>> Nvml::Processes() const {
  for (const char* name : {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
    ProcessInfo infos[256];
    unsigned count = 256;
    const int result = Ask(library_, name, device_, &count, &infos[0]);
    if (result == 7) return std::vector<unsigned>(257);  // more than there is room for
    if (result != 0) continue;
    std::vector<unsigned> pids;
    for (unsigned i = 0; i < count; ++i) pids.push_back(infos[i].pid);
    return pids;
  }
  return std::nullopt;
}

std::optional<double> Nvml::UsedMib() const {
  Memory memory{};
  if (Ask(library_, "nvmlDeviceGetMemoryInfo", device_, &memory) != 0) return std::nullopt;
  return static_cast<double>(memory.used) / (1 << 20);
}

std::vector<std::pair<std::string, std::string>> Nvml::Facts() const {
  std::vector<std::pair<std::string, std::string>> facts;
  char text[96] = {};
  if (Ask(library_, "nvmlSystemGetDriverVersion", &text[0], 96u) == 0) facts.emplace_back("driver release", text);
  if (Ask(library_, "nvmlDeviceGetVbiosVersion", device_, &text[0], 96u) == 0) facts.emplace_back("VBIOS", text);
  const auto number = [&](const char* fact, const char* name) {
    unsigned value = 0;
    if (Ask(library_, name, device_, &value) == 0) facts.emplace_back(fact, std::to_string(value));
  };
  number("persistence mode", "nvmlDeviceGetPersistenceMode");
  number("compute mode", "nvmlDeviceGetComputeMode");
  number("PCIe generation", "nvmlDeviceGetCurrPcieLinkGeneration");
  number("PCIe lanes", "nvmlDeviceGetCurrPcieLinkWidth");
  number("power limit in mW", "nvmlDeviceGetEnforcedPowerLimit");
  const auto pair = [&](const char* fact, const char* name) {
    unsigned current = 0, pending = 0;
    if (Ask(library_, name, device_, &current, &pending) == 0) facts.emplace_back(fact, std::to_string(current));
  };
  pair("ECC", "nvmlDeviceGetEccMode");
  pair("MIG", "nvmlDeviceGetMigMode");
  const auto clock = [&](const char* fact, const char* name, int kind) {
    unsigned value = 0;
    if (Ask(library_, name, device_, kind, &value) == 0) facts.emplace_back(fact, std::to_string(value));
  };
  clock("SM clock in MHz", "nvmlDeviceGetClockInfo", 1);
  clock("highest SM clock in MHz", "nvmlDeviceGetMaxClockInfo", 1);
  clock("highest memory clock in MHz", "nvmlDeviceGetMaxClockInfo", 2);
  return facts;
}

}  // namespace tutti::gpu
