#include "frame/look.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cuda/result.h"
#include "frame/find_driver.h"
#include "frame/gpu.h"
#include "frame/nvml.h"
#include "frame/process.h"
#include "frame/record.h"
#include "frame/run.h"
#include "frame/settings.h"

namespace tutti::gpu {

using namespace cuda;

namespace {

constexpr double kLeastFreeMib = 512;

[[noreturn]] void Refuse(Verdict verdict, const std::string& reason) {
  Record().Set("outcome", "refused").Set("reason", reason).Write();
  _exit(kLookStatus + static_cast<int>(verdict));
}

// The processes that have a context on the device, as a text; empty: none. `how` says who was asked.
std::string OthersOn(const std::string& pci, std::string* how) {
  if (IsOurs(Here().vendor)) {
    *how = "not asked: the device is a private one";
    return "";
  }
  const auto listed = [](size_t count, const std::string& pids) {
    return count == 0 ? "" : std::to_string(count) + (count == 1 ? " process" : " processes") + " (" + pids + ")";
  };
  if (const auto nvml = Nvml::Open(pci)) {
    if (const auto processes = nvml->Processes()) {
      *how = "libnvidia-ml.so.1";
      std::string pids;
      for (const unsigned pid : *processes) pids += (pids.empty() ? "" : " ") + std::to_string(pid);
      return listed(processes->size(), pids);
    }
  }
  if (const std::string program = FindProgram("nvidia-smi"); !program.empty()) {
    FILE* const list =
        popen((program + " --query-compute-apps=pid --format=csv,noheader -i " + pci + " 2> /dev/null").c_str(), "r");
    std::string pids;
    size_t count = 0;
    char line[256];
    while (list != nullptr && std::fgets(line, sizeof line, list) != nullptr) {
      if (std::atoi(line) > 0) {
        ++count;
        pids += (pids.empty() ? "" : " ") + std::to_string(std::atoi(line));
      }
    }
    if (list != nullptr && pclose(list) == 0) {
      *how = "nvidia-smi";
      return listed(count, pids);
    }
  }
  *how = "could not look: neither libnvidia-ml.so.1 nor nvidia-smi answers";
  return "";
}

void Look(std::string_view) {
  if (const std::string problem = OpenVendor(Here().vendor); !problem.empty())
    Refuse(Verdict::kNoDevice, "the driver cannot be opened: " + problem);
  if (const int result = CU_TRY(cuInit, 0u); result != CUDA_SUCCESS)
    Refuse(Verdict::kNoDevice, "the driver " + Here().vendor + " does not start: cuInit: " + NameOf(result));
  int count = 0, version = 0;
  CU(cuDeviceGetCount, &count);
  CU(cuDriverGetVersion, &version);
  if (count == 0) Refuse(Verdict::kNoDevice, "the driver " + Here().vendor + " has no device");
  CUdevice device = 0;
  CU(cuDeviceGet, &device, 0);
  char name[128] = {}, pci[32] = {};
  CU(cuDeviceGetName, &name[0], 127, device);
  CU_TRY(cuDeviceGetPCIBusId, &pci[0], 31, device);
  const int mode = Attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  if (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS || mode == CU_COMPUTEMODE_PROHIBITED)
    Refuse(Verdict::kComputeMode,
           std::string(name) + " is in compute mode " +
               (mode == CU_COMPUTEMODE_PROHIBITED ? "prohibited" : "exclusive process") +
               ", which this run does not change; it needs several processes on it: nvidia-smi -c DEFAULT");
  std::string how;
  const std::string others = OthersOn(pci, &how);
  if (!others.empty() && std::getenv("TUTTI_GPU_SHARED_ANYWAY") == nullptr)
    Refuse(Verdict::kInUse, std::string(name) + " is in use by " + others +
                                ": faults are provoked and times measured here (--shared-anyway runs all the same)");
  CUcontext context = nullptr;
  int result = CU_TRY(cuDevicePrimaryCtxRetain, &context, device);
  if (result == CUDA_SUCCESS) result = CU_TRY(cuCtxSetCurrent, context);
  size_t free = 0, total = 0;
  if (result == CUDA_SUCCESS) result = CU_TRY(cuMemGetInfo_v2, &free, &total);
  const double free_mib = static_cast<double>(free) / (1 << 20);
  if (result == CUDA_ERROR_OUT_OF_MEMORY || (result == CUDA_SUCCESS && free_mib < kLeastFreeMib))
    Refuse(Verdict::kFull, std::string(name) + " is full: " +
                               (result == CUDA_SUCCESS ? std::to_string(static_cast<int>(free_mib)) + " MiB are free"
                                                       : "no context can be made") +
                               ", and the probes need " + std::to_string(static_cast<int>(kLeastFreeMib)) +
                               " MiB at least");
  if (result != CUDA_SUCCESS) Refuse(Verdict::kNoDevice, std::string(name) + " cannot be used: " + NameOf(result));
  Record()
      .Set("name", name)
      .Set("PCI", pci)
      .Set("devices", count)
      .Set("driver API version", version)
      .Set("memory in MiB", static_cast<double>(total) / (1 << 20))
      .Set("free in MiB", free_mib)
      .Set("other processes", others.empty() ? "none seen" : others)
      .Set("who said so", how)
      .Write();
}

constexpr Step kSteps[] = {{"look", Look, 60}};
const Probe kLook{"start", "Is there a device, and is it free?", kSteps, {}, nullptr};

}  // namespace

const Probe& LookProbe() { return kLook; }

}  // namespace tutti::gpu
