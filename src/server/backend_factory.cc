#include "server/backend_factory.h"

#include <fmt/format.h>

#include <cstdlib>

#include "device/compile/code_settings.h"
#include "device/compile/code_store.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/device_info.h"
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

Result<std::shared_ptr<device::CompilerHost>> StartCompilerHost(std::string_view device) {
  if (device != "cpu") return nullptr;
  return device::CompilerHost::Start(device::CodeSettings::FromEnvironment());
}

Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name, bool shared,
                                                       std::shared_ptr<device::CompilerHost> compilers) {
  if (name == "null") return device::null::CreateNullBackend();
  if (name == "cpu") {
    TUTTI_ASSIGN(device::cpu::CpuSettings settings, device::cpu::CpuSettings::FromEnvironment());
    if (shared) settings.client_host_bytes = settings.host_bytes / 2;
    const char* const visible = shared ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
    if (visible != nullptr) TUTTI_TRY(Choose(visible, settings));
    auto code = device::CodeSettings::FromEnvironment();
    code.capability = static_cast<uint32_t>(10 * settings.compute_major + settings.compute_minor);
    return device::cpu::CreateCpuBackend(settings, device::CreateCodeStore(code, std::move(compilers)));
  }
  return Fail(fmt::format("this build has no device \"{}\"", name));
}

}  // namespace tutti::server
