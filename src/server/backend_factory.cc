#include "server/backend_factory.h"

#include <fmt/format.h>

#include <cstdlib>

#include "device/compile/code_settings.h"
#include "device/compile/code_store.h"
#include "device/compile/compiler_host.h"
#include "device/compile/fence_store.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/device_info.h"
#include "device/gpu/gpu_backend.h"
#include "device/null/null_backend.h"
#include "wire/visible_devices.h"

namespace tutti::server {
namespace {

Status Choose(std::string_view visible, device::cpu::CpuSettings& settings) {
  std::vector<wire::DeviceInfo> all;
  for (uint32_t i = 0; i < settings.devices; ++i) all.push_back(device::cpu::DescribeDevice(settings, i));
  settings.served = wire::VisibleDevices(visible, all);
  if (!settings.served.empty()) return {};
  return Fail(
      fmt::format("CUDA_VISIBLE_DEVICES=\"{}\" of the control daemon names none of the {} devices: start it with "
                  "their ordinals or UUIDs, or without the variable",
                  visible, all.size()));
}

}  // namespace

std::string_view ResolveDevice(std::string_view name) {
  if (name != "auto") return name;
  return device::gpu::GpuSettings::HasGpu() ? "cuda" : "cpu";
}

Result<std::shared_ptr<os::Spawner>> StartSpawner(std::string_view device) {
  if (device == "cpu")
    return os::Spawner::Start({device::CompilerHost::ProgramOf(device::CodeSettings::FromEnvironment())});
  if (device != "cuda") return nullptr;
  TUTTI_ASSIGN(const auto settings, device::gpu::GpuSettings::FromEnvironment());
  return os::Spawner::Start({settings.ProgramOf(), device::CompilerHost::ProgramOf(device::CodeSettings::OfFences())});
}

Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared,
                                                       device::gpu::Isolation isolation, bool trust,
                                                       std::shared_ptr<os::Spawner> spawner) {
  if (name == "null") return device::null::CreateNullBackend();
  if (name == "cpu") {
    TUTTI_ASSIGN(device::cpu::CpuSettings settings, device::cpu::CpuSettings::FromEnvironment());
    if (shared) settings.client_host_bytes = settings.host_bytes / 2;
    const char* const visible = shared ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
    if (visible != nullptr) TUTTI_TRY(Choose(visible, settings));
    auto code = device::CodeSettings::FromEnvironment();
    code.capability = static_cast<uint32_t>(10 * settings.compute_major + settings.compute_minor);
    auto compilers = std::make_shared<device::CompilerHost>(code.compiler, std::move(spawner));
    return device::cpu::CreateCpuBackend(settings, device::CreateCodeStore(code, std::move(compilers)));
  }
  if (name == "cuda") {
    TUTTI_ASSIGN(device::gpu::GpuSettings settings, device::gpu::GpuSettings::FromEnvironment());
    if (shared) settings.client_host_bytes = settings.host_bytes / 2;
    if (shared) settings.isolation = isolation;
    std::shared_ptr<device::FenceStore> fences;
    if (settings.isolation != device::gpu::Isolation::kProcess && !trust) {
      constexpr uint32_t kFence = 1;  // of the spawner's programs
      const auto code = device::CodeSettings::OfFences();
      fences = std::make_shared<device::FenceStore>(
          code, std::make_shared<device::CompilerHost>(code.compiler, spawner, kFence));
    }
    return device::gpu::CreateGpuBackend(settings, std::move(spawner), std::move(fences));
  }
  return Fail(fmt::format("this build has no device \"{}\"", name));
}

}  // namespace tutti::server
