// Uses libnvidia-ml.so.1 as monitoring tools do, and as no tool should. Prints what it sees:
//
//   devices N
//   0 GPU-... total_mib=8192 used_mib=0 sms=2
//   process PID used_mib=64      one for each, of the first device
//
// or, with --mistakes, calls it wrongly in every way there is and prints "all refused", or what was not. With --fork
// the child looks, too.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nvml/functions.h"

namespace {

void Check(nvmlReturn_t result, const char* what) {
  if (result == NVML_SUCCESS) return;
  std::printf("%s: %s\n", what, nvmlErrorString(result));
  std::exit(1);
}

void Look() {
  unsigned count = 0;
  Check(nvmlDeviceGetCount_v2(&count), "count");
  std::printf("devices %u\n", count);
  nvmlDevice_t first = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr, same = nullptr;
    char uuid[80] = "";
    nvmlMemory_t memory{};
    nvmlDeviceAttributes_t attributes{};
    Check(nvmlDeviceGetHandleByIndex_v2(i, &device), "handle");
    Check(nvmlDeviceGetUUID(device, uuid, sizeof uuid), "uuid");
    Check(nvmlDeviceGetMemoryInfo(device, &memory), "memory");
    Check(nvmlDeviceGetAttributes_v2(device, &attributes), "attributes");
    Check(nvmlDeviceGetHandleByUUID(uuid, &same), "by uuid");
    if (same != device) std::printf("another device has the UUID %s\n", uuid);
    if (i == 0) first = device;
    std::printf("%u %s total_mib=%llu used_mib=%llu sms=%u\n", i, uuid, memory.total >> 20, memory.used >> 20,
                attributes.multiprocessorCount);
  }
  if (first == nullptr) return;
  std::vector<nvmlProcessInfo_t> processes(64);
  count = static_cast<unsigned>(processes.size());
  Check(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, processes.data()), "processes");
  for (unsigned i = 0; i < count; ++i)
    std::printf("process %u used_mib=%llu\n", processes[i].pid, processes[i].usedGpuMemory >> 20);
}

int wrong = 0;
void Expect(const char* call, nvmlReturn_t wanted, nvmlReturn_t got) {
  if (wanted == got) return;
  ++wrong;
  std::printf("%s: %s, not %s\n", call, nvmlErrorString(got), nvmlErrorString(wanted));
}
#define REFUSES(wanted, call) Expect(#call, wanted, call)

void Mistakes() {
  nvmlDevice_t device = nullptr;
  char text[96] = "";
  unsigned number = 0;
  int mode = 0;
  nvmlMemory_t memory{};
  nvmlMemory_v2_t versioned{};
  nvmlProcessInfo_t process{};
  Check(nvmlDeviceGetHandleByIndex_v2(0, &device), "handle");

  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetCount_v2(nullptr));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(1000, &device));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(0, nullptr));
  REFUSES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByUUID("GPU-none", &device));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByUUID(nullptr, &device));
  REFUSES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("FFFF:FF:1F.7", &device));
  nvmlPciInfo_t pci{};
  Check(nvmlDeviceGetPciInfo_v3(device, &pci), "address");
  const std::string address = pci.busId;
  REFUSES(NVML_SUCCESS, nvmlDeviceGetHandleByPciBusId_v2(address.c_str(), &device));
  REFUSES(NVML_SUCCESS, nvmlDeviceGetHandleByPciBusId_v2(address.substr(0, address.size() - 2).c_str(), &device));
  for (const std::string& other :
       {address + "x", address + " ", address + "0", " " + address, address + ":00", "-" + address})
    REFUSES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2(other.c_str(), &device));

  for (const uintptr_t value : {uintptr_t{0}, uintptr_t{1}, uintptr_t{0xdeadbeef}, ~uintptr_t{0},
                                reinterpret_cast<uintptr_t>(&memory), reinterpret_cast<uintptr_t>(device) + 12}) {
    const auto garbage = reinterpret_cast<nvmlDevice_t>(value);
    REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(garbage, text, sizeof text));
    REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetMemoryInfo(garbage, &memory));
    REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceSetComputeMode(garbage, 0));
    REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetComputeRunningProcesses_v3(garbage, &number, &process));
  }
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(device, nullptr, 96));
  REFUSES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device, text, 2));
  REFUSES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetUUID(device, text, 0));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetMemoryInfo(device, nullptr));
  REFUSES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMemoryInfo_v2(device, &versioned));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetUtilizationRates(device, nullptr));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetComputeMode(device, nullptr));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceSetComputeMode(device, 4));
  REFUSES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceSetComputeMode(device, 1));
  REFUSES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetComputeRunningProcesses_v3(device, nullptr, &process));
  REFUSES(NVML_ERROR_NOT_FOUND, nvmlSystemGetProcessName(0x7fffffff, text, sizeof text));
  REFUSES(NVML_SUCCESS, nvmlDeviceGetComputeMode(device, &mode));

  REFUSES(NVML_SUCCESS, nvmlInit_v2());  // counted
  REFUSES(NVML_SUCCESS, nvmlShutdown());
  REFUSES(NVML_SUCCESS, nvmlDeviceGetCount_v2(&number));
  REFUSES(NVML_SUCCESS, nvmlShutdown());
  REFUSES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&number));
  REFUSES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetName(device, text, sizeof text));
  REFUSES(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
  if (wrong == 0) std::printf("all refused\n");
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  Check(nvmlInit_v2(), "init");
  if (std::strcmp(what, "--mistakes") == 0) {
    Mistakes();
    return wrong == 0 ? 0 : 1;
  }
  Look();
  if (std::strcmp(what, "--fork") != 0) return 0;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Look();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
