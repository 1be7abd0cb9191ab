// Initialisation, versions, errors, processes' names.
#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

#include "cuda/api.h"
#include "nvml/entry.h"
#include "nvml/versions.h"
#include "os/proc_text.h"

using namespace tutti;
using namespace tutti::nvml;

namespace {

constexpr const char* kErrors[] = {
    "Success",
    "Uninitialized",
    "Invalid Argument",
    "Not Supported",
    "Insufficient Permissions",
    "Already Initialized",
    "Not Found",
    "Insufficient Size",
    "Insufficient External Power",
    "Driver Not Loaded",
    "Timeout",
    "Interrupt Request Issue",
    "NVML Shared Library Not Found",
    "Function Not Found",
    "Corrupted infoROM",
    "GPU is lost",
    "GPU requires reset",
    "GPU access blocked by the operating system",
    "Driver/library version mismatch",
    "In use by another client",
    "Insufficient Memory",
    "No data",
    "ECC is enabled on a vGPU",
    "Insufficient Resources",
    "Frequency not supported",
    "Argument version mismatch",
    "Deprecated",
    "Not Ready",
    "GPU not found",
    "Invalid state",
    "Reset type not supported",
};

}  // namespace

NVML_EXPORT nvmlInit_v2() {
  return Guarded([] { return Session::Begin(); });
}
NVML_EXPORT nvmlInit() { return nvmlInit_v2(); }
// Without devices an initialisation with NVML_INIT_FLAG_NO_GPUS (1) succeeds as well; ours is never without.
NVML_EXPORT nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
NVML_EXPORT nvmlShutdown() {
  return Guarded([] { return Session::End(); });
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvmlReturn_t result) {
  const auto number = static_cast<unsigned>(result);
  return number < std::size(kErrors) ? kErrors[number] : "Unknown Error";
}

// The versions need no initialisation but NVIDIA's says so; programs ask after nvmlInit.
NVML_EXPORT nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return Guarded(
      [&] { return Session::active() ? Write(DriverVersion(), version, length) : NVML_ERROR_UNINITIALIZED; });
}
NVML_EXPORT nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return Guarded([&] { return Write(LibraryVersion(), version, length); });
}
NVML_EXPORT nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = cuda::kDriverVersion;
  return NVML_SUCCESS;
}
NVML_EXPORT nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

// From /proc, and so for processes that this one could look up there itself.
NVML_EXPORT nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return Guarded([&] {
    if (!Session::active()) return NVML_ERROR_UNINITIALIZED;
    if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::string text = os::TextOf(fmt::format("/proc/{}/cmdline", pid), 4096);
    if (text.empty()) return NVML_ERROR_NOT_FOUND;
    text.resize(std::min<size_t>({text.find('\0'), text.size(), length - 1}));
    return Write(text, name, length);
  });
}
NVML_EXPORT nvmlSystemGetTopologyGpuSet(unsigned, unsigned* count, nvmlDevice_t*) {
  return WithView(
      [&](const View&) { return count == nullptr ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED; });
}
