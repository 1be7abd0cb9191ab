#include "device/gpu/gpu_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cuda/result.h"
#include "executor/protocol/request.h"
#include "os/memory_limit.h"
#include "os/program.h"

namespace tutti::device::gpu {
namespace {

constexpr const char* kVariable = "TUTTI_VENDOR_LIBCUDA";
constexpr const char* kFolders[] = {"/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                                    "/usr/lib/wsl/lib", "/run/opengl-driver/lib"};
// Of a server: a context of the driver takes hundreds of MiB of the GPU's memory. More than programs: one is kept
// ready, some compile (device/gpu/jit.h), and who moves has two for a moment.
constexpr size_t kMostExecutors = 72;

bool IsOurs(const std::string& library) {
  std::ifstream file(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.find("tuttiVersion") != std::string::npos;
}

std::string FindVendor() {
  if (const std::string named = os::Environment(kVariable); !named.empty()) return named;
  for (const char* const folder : kFolders) {
    const std::string path = std::string(folder) + "/libcuda.so.1";
    if (access(path.c_str(), R_OK) == 0 && !IsOurs(path)) return path;
  }
  return "";
}

}  // namespace

Result<GpuSettings> GpuSettings::FromEnvironment() {
  GpuSettings settings;
  settings.vendor = FindVendor();
  if (settings.vendor.empty()) {
    std::string folders;
    for (const char* const folder : kFolders) folders += (folders.empty() ? "" : ", ") + std::string(folder);
    return Fail(
        cuda::CUDA_ERROR_NO_DEVICE,
        fmt::format("no libcuda.so.1 of a GPU's vendor in {}: install the GPU's driver, name it by {}, or start "
                    "with TUTTI_DEVICE=cpu",
                    folders, kVariable));
  }
  settings.executor = os::ProgramDirectory() + "/tutti-executor";
  settings.host_bytes = settings.client_host_bytes = os::MemoryOfThisProcess() / 2;
  return settings;
}

bool GpuSettings::HasGpu() {
  if (!os::Environment(kVariable).empty()) return true;
  const bool has_file = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
  return has_file && !FindVendor().empty();
}

os::Spawner::Program GpuSettings::ProgramOf() const {
  using namespace executor;
  return {.path = executor,
          .arguments = {"tutti-executor", "--vendor", vendor},
          .environment =
              {
                  // The vendor's driver must not come to our daemon, which listens where its own would: a directory in
                  // which nobody can make a socket.
                  "CUDA_MPS_PIPE_DIRECTORY=/proc/self/task", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                  "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_CLIENT_PRIORITY", "CUDA_MODULE_LOADING=EAGER",
                  "CUDA_DEVICE_MAX_CONNECTIONS=32",
                  // It writes no files where it may not, and loads nothing into itself.
                  "CUDA_LOG_FILE", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP",
                  "CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "CUDA_INJECTION64_PATH",
                  "TUTTI_DEVICE=cpu",  // if the driver is ours, as in tests
              },
          .files = {kLifelineFd, kControlFd, STDERR_FILENO},
          .most = kMostExecutors};
}

}  // namespace tutti::device::gpu
