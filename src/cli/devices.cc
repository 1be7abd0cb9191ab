#include "cli/devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

#include "cli/installation.h"
#include "control/client_table.h"
#include "cuda/device_attribute.h"
#include "cuda/result.h"

namespace tutti::cli {
namespace {

template <typename... Arguments>
Status Call(void* library, const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  if (function == nullptr) return Fail(fmt::format("our libcuda.so.1 has no {}", name));
  const int result = function(arguments...);
  if (result == 0) return {};
  const char* const text = cuda::ResultName(result);
  return Fail(fmt::format("{} returned {}", name, text != nullptr ? text : std::to_string(result)));
}

Result<Device> Describe(void* library, int ordinal) {
  Device device{.ordinal = ordinal};
  char name[256] = "";
  uint8_t uuid[16] = {};
  size_t bytes = 0;
  TUTTI_TRY(Call(library, "cuDeviceGetName", name, static_cast<int>(sizeof name), ordinal));
  TUTTI_TRY(Call(library, "cuDeviceGetUuid", static_cast<void*>(uuid), ordinal));
  TUTTI_TRY(Call(library, "cuDeviceTotalMem_v2", &bytes, ordinal));
  TUTTI_TRY(Call(library, "cuDeviceGetAttribute", &device.sm_count,
                 static_cast<int>(cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), ordinal));
  device.name = name;
  device.uuid = control::FormatUuid(uuid);
  device.total_bytes = bytes;
  return device;
}

}  // namespace

Result<std::vector<Device>> ListDevices() {
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  TUTTI_ASSIGN(const std::string directory, LibraryDirectory());
  void* const library = dlopen((directory + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(fmt::format("our libcuda.so.1 cannot be loaded: {}", dlerror()));
  int count = 0;
  TUTTI_TRY(Call(library, "cuInit", 0u));
  TUTTI_TRY(Call(library, "cuDeviceGetCount", &count));
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    TUTTI_ASSIGN(Device device, Describe(library, ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tutti::cli
