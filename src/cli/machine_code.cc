#include "cli/machine_code.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "control/daemon_connection.h"
#include "control/places.h"
#include "control/trust.h"
#include "ipc/client_connection.h"
#include "os/program.h"

namespace tutti::cli {
namespace {

using Json = nlohmann::json;

constexpr int kPatienceMs = 5'000;  // a GPU's driver takes a good second to say what it has

bool LoadsMachineCode(const Json& device) {
  if (!device.is_object()) return false;
  const auto capabilities = device.find("capabilities");
  return capabilities != device.end() && capabilities->is_array() &&
         std::ranges::any_of(*capabilities, [](const Json& name) { return name == "machine_code"; });
}

}  // namespace

bool DevicesLoadMachineCode() {
  auto daemon = control::DaemonConnection::Open(control::PlacesFromEnvironment(), kPatienceMs);
  if (!daemon) {
    const std::string device = os::Environment("TUTTI_DEVICE");
    const bool is_there = access("/dev/nvidiactl", F_OK) == 0 || !os::Environment("TUTTI_VENDOR_LIBCUDA").empty();
    return device == "cuda" || (device == "auto" && is_there);
  }
  // Programs do not attach to a stranger's daemon.
  if (!control::ProgramsTrust(daemon->daemon_uid(), os::Environment(ipc::kTrustVariable))) return false;
  const auto answer = daemon->Run("device_share");
  if (!answer || answer->exit_status != 0) return false;
  const Json json = Json::parse(answer->text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("devices") || !json["devices"].is_array() || json["devices"].empty())
    return false;
  return std::ranges::all_of(json["devices"], LoadsMachineCode);
}

}  // namespace tutti::cli
