#include "server/backend_factory.h"

#include <fmt/format.h>

#include "device/null/null_backend.h"

namespace tutti::server {

Result<std::unique_ptr<device::Backend>> CreateBackend(std::string_view name) {
  if (name == "null") return device::CreateNullBackend();
  return Fail(fmt::format("this build has no device \"{}\"", name));
}

}  // namespace tutti::server
