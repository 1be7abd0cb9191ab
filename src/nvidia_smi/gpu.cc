#include "nvidia_smi/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "nvml/functions.h"

namespace tutti::nvidia_smi {
namespace {

template <typename Ask, typename... Arguments>
std::string TextOf(Ask ask, Arguments... arguments) {
  char text[1024] = "";
  return ask(arguments..., text, static_cast<unsigned>(sizeof text)) == NVML_SUCCESS ? Printable(text) : "";
}

template <typename T>
std::optional<T> ValueOf(nvmlReturn_t (*ask)(nvmlDevice_t, T*), nvmlDevice_t handle, T value = {}) {
  return ask(handle, &value) == NVML_SUCCESS ? std::optional(value) : std::nullopt;
}

std::optional<bool> SwitchOf(nvmlReturn_t (*ask)(nvmlDevice_t, unsigned*), nvmlDevice_t handle) {
  const auto value = ValueOf<unsigned>(ask, handle);
  return value ? std::optional(*value != 0) : std::nullopt;
}

// The list may grow between the question how long it is and the list itself.
template <typename Entry, typename Ask>
std::vector<Entry> ListOf(Ask ask) {
  std::vector<Entry> entries(16);
  for (int tries = 0; tries < 8; ++tries) {
    auto count = static_cast<unsigned>(entries.size());
    const nvmlReturn_t result = ask(entries.data(), &count);
    if (result == NVML_SUCCESS) {
      entries.resize(count);
      return entries;
    }
    if (result != NVML_ERROR_INSUFFICIENT_SIZE) break;
    entries.resize(count + 16);
  }
  return {};
}

std::vector<GpuProcess> ProcessesOf(nvmlDevice_t handle) {
  const auto of = [handle](auto ask) {
    return ListOf<nvmlProcessInfo_t>(
        [=](nvmlProcessInfo_t* list, unsigned* count) { return ask(handle, count, list); });
  };
  std::set<uint32_t> mps;
  for (const auto& process : of(nvmlDeviceGetMPSComputeRunningProcesses_v3)) mps.insert(process.pid);
  const auto samples =
      ListOf<nvmlProcessUtilizationSample_t>([&](nvmlProcessUtilizationSample_t* list, unsigned* count) {
        return nvmlDeviceGetProcessUtilization(handle, list, count, 0);
      });
  std::vector<GpuProcess> processes;
  for (const auto& process : of(nvmlDeviceGetComputeRunningProcesses_v3)) {
    GpuProcess one{.pid = process.pid, .mps = mps.contains(process.pid)};
    one.name = TextOf(nvmlSystemGetProcessName, process.pid);
    if (one.name.empty()) one.name = "[Not Found]";
    if (process.usedGpuMemory != nvml::kNotAvailable) one.used_bytes = process.usedGpuMemory;
    const auto sample = std::ranges::find(samples, process.pid, &nvmlProcessUtilizationSample_t::pid);
    if (sample != samples.end()) one.sm_percent = sample->smUtil;
    processes.push_back(std::move(one));
  }
  return processes;
}

Gpu Describe(nvmlDevice_t handle) {
  Gpu gpu{.handle = handle, .index = ValueOf<unsigned>(nvmlDeviceGetIndex, handle).value_or(0)};
  gpu.name = TextOf(nvmlDeviceGetName, handle);
  gpu.uuid = TextOf(nvmlDeviceGetUUID, handle);
  if (const auto pci = ValueOf<nvmlPciInfo_t>(nvmlDeviceGetPciInfo_v3, handle)) {
    gpu.bus_id = pci->busId;
    gpu.pci_domain = pci->domain;
    gpu.pci_bus = pci->bus;
    gpu.pci_device = pci->device;
  }
  gpu.minor_number = ValueOf<unsigned>(nvmlDeviceGetMinorNumber, handle);
  gpu.memory =
      ValueOf<nvmlMemory_v2_t>(nvmlDeviceGetMemoryInfo_v2, handle, {.version = nvml::VersionOf<nvmlMemory_v2_t>(2)});
  if (const auto rates = ValueOf<nvmlUtilization_t>(nvmlDeviceGetUtilizationRates, handle))
    gpu.gpu_percent = rates->gpu;
  if (const auto parts = ValueOf<nvmlDeviceAttributes_t>(nvmlDeviceGetAttributes_v2, handle))
    gpu.multiprocessors = parts->multiprocessorCount;
  gpu.compute_mode = ValueOf<int>(nvmlDeviceGetComputeMode, handle);
  gpu.persistence = SwitchOf(nvmlDeviceGetPersistenceMode, handle);
  gpu.display = SwitchOf(nvmlDeviceGetDisplayActive, handle);
  int major = 0, minor = 0;
  if (nvmlDeviceGetCudaComputeCapability(handle, &major, &minor) == NVML_SUCCESS)
    gpu.compute_capability = fmt::format("{}.{}", major, minor);
  gpu.processes = ProcessesOf(handle);
  return gpu;
}

Answer<nvmlDevice_t> HandleNamed(const std::string& id) {
  nvmlDevice_t handle = nullptr;
  nvmlReturn_t result = NVML_ERROR_NOT_FOUND;
  if (id.find(':') != id.npos) {
    result = nvmlDeviceGetHandleByPciBusId_v2(id.c_str(), &handle);
  } else if (!id.empty() && id.size() < 6 && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; })) {
    result = nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(std::stoul(id)), &handle);
    if (result == NVML_ERROR_INVALID_ARGUMENT) result = NVML_ERROR_NOT_FOUND;
  } else {
    result = nvmlDeviceGetHandleByUUID(id.c_str(), &handle);
  }
  if (result != NVML_SUCCESS) return std::unexpected(result);
  return handle;
}

}  // namespace

Answer<System> ReadSystem() {
  System system{.driver_version = TextOf(nvmlSystemGetDriverVersion)};
  int version = 0;
  if (nvmlSystemGetCudaDriverVersion_v2(&version) == NVML_SUCCESS)
    system.cuda_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  if (const nvmlReturn_t result = nvmlDeviceGetCount_v2(&system.gpus); result != NVML_SUCCESS)
    return std::unexpected(result);
  return system;
}

Answer<std::vector<Gpu>> ReadGpus(const std::vector<std::string>& ids) {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (const nvmlReturn_t result = nvmlDeviceGetCount_v2(&count); result != NVML_SUCCESS) return std::unexpected(result);
  for (unsigned i = 0; ids.empty() && i < count; ++i) {
    nvmlDevice_t handle = nullptr;
    if (nvmlDeviceGetHandleByIndex_v2(i, &handle) == NVML_SUCCESS) gpus.push_back(Describe(handle));
  }
  for (const std::string& id : ids) {
    const auto handle = HandleNamed(id);
    if (!handle) return std::unexpected(handle.error());
    gpus.push_back(Describe(*handle));
  }
  return gpus;
}

const char* ComputeModeName(int mode) {
  switch (mode) {
    case 0: return "Default";
    case 2: return "Prohibited";
    case 3: return "Exclusive_Process";
    default: return "[N/A]";
  }
}

}  // namespace tutti::nvidia_smi
