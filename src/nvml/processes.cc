// Processes on a device: those that this process may see, by their ids here. A client of a daemon is both a compute
// process and an MPS client, as nvidia-smi shows it ("M+C"). Nothing of the device draws: no graphics processes.
#include <sys/types.h>

#include <vector>

#include "nvml/entry.h"

using namespace tutti::nvml;

namespace {

std::vector<Process> On(const View& view, uint32_t device, unsigned mode = kCompute) {
  std::vector<Process> list;
  if (mode == kGraphics || (mode == kMps && !view.shared)) return list;
  for (const Process& process : view.processes) {
    if (process.device == device) list.push_back(process);
  }
  return list;
}

// Fills an array of `*count` elements and sets the count to the number there are. Leaves an array that is too short, or
// missing, as it is.
template <typename Entry, typename From, typename Make>
nvmlReturn_t List(const std::vector<From>& what, unsigned* count, Entry* entries, Make make) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(what.size());
  if (what.empty()) return NVML_SUCCESS;
  if (room < what.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (entries == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (const From& one : what) *entries++ = make(one);
  return NVML_SUCCESS;
}

nvmlProcessInfo_v1_t Short(const Process& process) { return {.pid = process.pid, .usedGpuMemory = process.used_bytes}; }
nvmlProcessInfo_t Long(const Process& process) {
  return {.pid = process.pid,
          .usedGpuMemory = process.used_bytes,
          .gpuInstanceId = kNoInstance,
          .computeInstanceId = kNoInstance};
}

template <typename Entry>
nvmlReturn_t ListProcesses(nvmlDevice_t handle, unsigned mode, unsigned* count, Entry* entries,
                           Entry (*make)(const Process&)) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        return List(On(view, index, mode), count, entries, make);
      },
      count);
}

unsigned Percent(double share) { return static_cast<unsigned>(share * 100 + 0.5); }

}  // namespace

#define LISTS(name, mode)                                                                   \
  NVML_EXPORT name(nvmlDevice_t handle, unsigned* count, nvmlProcessInfo_v1_t* entries) {   \
    return ListProcesses(handle, mode, count, entries, Short);                              \
  }                                                                                         \
  NVML_EXPORT name##_v2(nvmlDevice_t handle, unsigned* count, nvmlProcessInfo_t* entries) { \
    return ListProcesses(handle, mode, count, entries, Long);                               \
  }                                                                                         \
  NVML_EXPORT name##_v3(nvmlDevice_t handle, unsigned* count, nvmlProcessInfo_t* entries) { \
    return ListProcesses(handle, mode, count, entries, Long);                               \
  }
LISTS(nvmlDeviceGetComputeRunningProcesses, kCompute)
LISTS(nvmlDeviceGetGraphicsRunningProcesses, kGraphics)
LISTS(nvmlDeviceGetMPSComputeRunningProcesses, kMps)
#undef LISTS

NVML_EXPORT nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t handle, nvmlProcessDetailList_v1_t* list) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        if (list->version != VersionOf<nvmlProcessDetailList_v1_t>(1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (list->mode > kMps) return NVML_ERROR_INVALID_ARGUMENT;
        return List(On(view, index, list->mode), &list->numProcArrayEntries, list->procArray,
                    [](const Process& process) -> nvmlProcessDetail_v1_t {
                      return {.pid = process.pid,
                              .usedGpuMemory = process.used_bytes,
                              .gpuInstanceId = kNoInstance,
                              .computeInstanceId = kNoInstance,
                              .usedGpuCcProtectedMemory = 0};
                    });
      },
      list);
}

// One sample per process: its share of the device's recent time, now.
NVML_EXPORT nvmlDeviceGetProcessUtilization(nvmlDevice_t handle, nvmlProcessUtilizationSample_t* samples,
                                            unsigned* count, unsigned long long seen_us) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        const auto running = view.taken_us > seen_us ? On(view, index) : std::vector<Process>();
        if (running.empty()) {
          *count = 0;
          return NVML_ERROR_NOT_FOUND;
        }
        if (samples == nullptr) *count = 0;
        return List(running, count, samples, [&](const Process& process) -> nvmlProcessUtilizationSample_t {
          return {.pid = process.pid, .timeStamp = view.taken_us, .smUtil = Percent(process.share)};
        });
      },
      count);
}
NVML_EXPORT nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t handle, nvmlProcessesUtilizationInfo_v1_t* list) {
  return WithDevice(
      handle,
      [&](const View& view, const Device&, uint32_t index) {
        if (list->version != VersionOf<nvmlProcessesUtilizationInfo_v1_t>(1))
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        const auto running = view.taken_us > list->lastSeenTimeStamp ? On(view, index) : std::vector<Process>();
        if (running.empty()) {
          list->processSamplesCount = 0;
          return NVML_ERROR_NOT_FOUND;
        }
        if (list->procUtilArray == nullptr) list->processSamplesCount = 0;
        return List(running, &list->processSamplesCount, list->procUtilArray,
                    [&](const Process& process) -> nvmlProcessUtilizationInfo_v1_t {
                      return {.timeStamp = view.taken_us, .pid = process.pid, .smUtil = Percent(process.share)};
                    });
      },
      list);
}
