// What the device, its driver and the machine are; two ceilings that other numbers are read against.
#include "facts/facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "cuda/device_attribute.h"
#include "frame/files.h"
#include "frame/find_driver.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/nvml.h"
#include "frame/process.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/torch.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Fact(const std::string& fact, const std::string& value) { Record().Set("fact", fact).Set("value", value).Write(); }

void DriverAndCard(std::string_view) {
  const CUdevice device = OpenDriver();
  int version = 0;
  CU(cuDriverGetVersion, &version);
  char name[128] = {}, pci[32] = {};
  CU(cuDeviceGetName, &name[0], 127, device);
  Record()
      .Set("name", name)
      .Set("API version", version)
      .Set("capability", Attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                             Attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
      .Set("multiprocessors", MultiprocessorCount(device))
      .Write();
  if (CU_TRY(cuDeviceGetPCIBusId, &pci[0], 31, device) != 0) return;
  const auto nvml = Nvml::Open(pci);
  if (!nvml) return Fact("libnvidia-ml.so.1", "not here");
  for (const auto& [fact, value] : nvml->Facts()) Fact(fact, value);
}

void Attributes(std::string_view) {
  const CUdevice device = OpenDriver();
  const auto name = [](int number) {
    switch (number) {
#define X(name, number) \
  case number: return #name;
#include "cuda/device_attribute.def"
#undef X
      default: return "";
    }
  };
  for (int i = 1; i < 160; ++i) {
    int value = 0;
    if (CU_TRY(cuDeviceGetAttribute, &value, i, device) != 0) continue;
    Record().Set("attribute", i).Set("name", name(i)).Set("value", value).Write();
  }
}

void Machine(std::string_view) {
  const std::string processor = ReadFile("/proc/cpuinfo", 64 << 10);
  const size_t model = processor.find("model name");
  if (model != std::string::npos)
    Fact("processor", processor.substr(processor.find(':', model) + 2,
                                       processor.find('\n', model) - processor.find(':', model) - 2));
  Fact("cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  Fact("memory in MiB", std::to_string(sysconf(_SC_PHYS_PAGES) / 256));
  Fact("virtual machine", processor.find(" hypervisor") != std::string::npos ? "yes" : "no");
  Fact("gVisor", ReadFile("/proc/version").find("gVisor") != std::string::npos ||
                         ReadFile("/proc/sys/kernel/osrelease").starts_with("4.4.0")
                     ? "probably"
                     : "no");
  Fact("user", std::to_string(getuid()));
  for (const auto& [name, which] : {std::pair{"open files", RLIMIT_NOFILE}, {"locked memory", RLIMIT_MEMLOCK}}) {
    rlimit limit{};
    getrlimit(which, &limit);
    Fact(std::string("limit of ") + name, limit.rlim_cur == RLIM_INFINITY ? "none" : std::to_string(limit.rlim_cur));
  }
  Fact("address randomisation", ReadFile("/proc/sys/kernel/randomize_va_space").substr(0, 1));
  Fact("huge pages for shared memory", ReadFile("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  std::string daemon = "no";
  for (const std::string& pid : FilesIn("/proc")) {
    if (ReadFile("/proc/" + pid + "/comm", 64).starts_with("nvidia-persiste")) daemon = "yes";
  }
  Fact("nvidia-persistenced", daemon);
}

void Software(std::string_view) {
  const auto here = [](const std::string& path) { return path.empty() ? "not here" : path; };
  Fact("nvidia-cuda-mps-control", here(FindNvidiaProgram("nvidia-cuda-mps-control")));
  Fact("nvidia-smi", here(FindProgram("nvidia-smi")));
  Fact("nvcc", here(FindProgram("nvcc")));
  const Torch torch = FindTorch();
  Fact("PyTorch", torch.python.empty() ? torch.why_not : torch.version + " of " + torch.python);
}

void Ceilings(std::string_view) {
  const Gpu gpu = OpenGpu();
  const uint64_t bytes =
      std::min<uint64_t>(MemoryBudget() / 4, Here().Size<uint64_t>(uint64_t{4} << 30, 4 << 20)) & ~uint64_t{4095};
  CUdeviceptr from = 0, to = 0;
  CU(cuMemAlloc_v2, &from, static_cast<size_t>(bytes));
  CU(cuMemAlloc_v2, &to, static_cast<size_t>(bytes));
  CU(cuMemcpyDtoD_v2, to, from, static_cast<size_t>(bytes));
  CU(cuCtxSynchronize);
  const int rounds = Here().Size(10, 2);
  const Stopwatch copy;
  for (int i = 0; i < rounds; ++i) CU(cuMemcpyDtoD_v2, to, from, static_cast<size_t>(bytes));
  CU(cuCtxSynchronize);
  const double copy_seconds = copy.seconds();
  const CUfunction empty = Kernel("empty");
  const CUstream stream = NewStream();
  const int launches = Here().Size(50'000, 500);
  const Stopwatch launch;
  for (int i = 0; i < launches; ++i) Launch(empty, 1, 1, stream);
  const double launch_us = launch.us() / launches;
  CU(cuStreamSynchronize, stream);
  Record()
      .Set("device copy, GB/s read and written", 2.0 * static_cast<double>(bytes) * rounds / copy_seconds / 1e9)
      .Set("launch in us", launch_us)
      .Set("start of the driver in ms", gpu.init_ms)
      .Set("context in ms", gpu.context_ms)
      .Set("first kernel in ms", gpu.kernel_ms)
      .Write();
}

std::string Decide(const Evidence& evidence) {
  const std::string name = evidence.Text("facts", "driver", "name");
  if (name.empty()) return evidence.Undecided("facts", "driver");
  std::string text = "none; measured on " + name + ", driver API " +
                     Show(evidence.Number("facts", "driver", "API version").value_or(0));
  if (const auto launch = evidence.Number("facts", "ceilings", "launch in us"))
    text += ", " + Show(*launch) + " us a launch";
  if (const auto copy = evidence.Number("facts", "ceilings", "device copy, GB/s read and written"))
    text += ", " + Show(*copy) + " GB/s of device memory";
  return text;
}

constexpr Step kSteps[] = {{"driver", DriverAndCard, 8},
                           {"ceilings", Ceilings, 10},
                           {"machine", Machine, 4},
                           {"attributes", Attributes, 8},
                           {"software", Software, 60}};

}  // namespace

const Probe kFacts{"facts", "What are the device, the driver and the machine?", kSteps, {}, Decide};

}  // namespace tutti::gpu
