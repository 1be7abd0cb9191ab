#include "server/backend_factory.h"

#include <fmt/format.h>

#include "device/cpu/code/code_settings.h"
#include "device/cpu/code/code_store.h"
#include "device/cpu/cpu_backend.h"
#include "device/null/null_backend.h"

namespace tutti::server {

Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name) {
  if (name == "null") return device::null::CreateNullBackend();
  if (name == "cpu") {
    TUTTI_ASSIGN(const device::cpu::CpuSettings settings, device::cpu::CpuSettings::FromEnvironment());
    return device::cpu::CreateCpuBackend(settings,
                                         device::cpu::CreateCodeStore(device::cpu::CodeSettings::FromEnvironment()));
  }
  return Fail(fmt::format("this build has no device \"{}\"", name));
}

}  // namespace tutti::server
