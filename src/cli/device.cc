// `tutti device`: this machine's devices, and their compute modes (like nvidia-smi -c for a GPU).
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/devices.h"
#include "cli/format.h"
#include "cli/subcommands.h"
#include "control/compute_mode.h"

namespace tutti::cli {
namespace {

constexpr size_t kUuidCharacters = 40;  // of a full UUID

int ListAll(bool as_json) {
  const auto devices = ListDevices();
  if (!devices) return Complain(devices.error().text);
  const auto modes = control::ComputeModes::Load();
  std::vector<std::vector<std::string>> rows{{"DEVICE", "UUID", "NAME", "SMS", "MEMORY", "MODE"}};
  nlohmann::json list = nlohmann::json::array();
  for (const Device& device : *devices) {
    const char* const mode = control::ComputeModeName(modes.Of(device.uuid));
    rows.push_back({std::to_string(device.ordinal), device.uuid, device.name, std::to_string(device.sm_count),
                    Bytes(device.total_bytes), mode});
    list.push_back({{"ordinal", device.ordinal},
                    {"uuid", device.uuid},
                    {"name", device.name},
                    {"sm_count", device.sm_count},
                    {"total_bytes", device.total_bytes},
                    {"compute_mode", mode}});
  }
  std::fputs(as_json ? (list.dump(2) + "\n").c_str() : Table(rows, {0, 3, 4}).c_str(), stdout);
  return 0;
}

// The devices that `wanted` names: "all", an ordinal, or a UUID prefix. A full UUID need not exist here, since the
// device may exist only in a daemon's environment (TUTTI_CPU_DEVICES).
Result<std::vector<std::string>> Named(const std::string& wanted) {
  if (wanted.starts_with("GPU-") && wanted.size() == kUuidCharacters) return std::vector{wanted};
  TUTTI_ASSIGN(const std::vector<Device> devices, ListDevices());
  std::vector<std::string> uuids;
  std::string there;
  for (const Device& device : devices) {
    there += fmt::format("{}{} ({})", there.empty() ? "" : ", ", device.ordinal, device.uuid);
    if (wanted == "all" || wanted == std::to_string(device.ordinal) ||
        (wanted.starts_with("GPU-") && device.uuid.starts_with(wanted))) {
      uuids.push_back(device.uuid);
    }
  }
  if (uuids.size() == 1 || wanted == "all") return uuids;
  return Fail(
      fmt::format("\"{}\" names {} device; there is {}", wanted, uuids.empty() ? "no" : "more than one", there));
}

int SetMode(const std::string& device, const std::string& name) {
  const auto mode = control::ParseComputeMode(name);
  if (!mode) return Complain(mode.error().text);
  const auto uuids = Named(device);
  if (!uuids) return Complain(uuids.error().text);
  for (const std::string& uuid : *uuids) {
    if (const auto set = control::ComputeModes::Set(uuid, *mode); !set)
      return Complain(set.error().text + "; compute modes are set by root");
    std::printf("%s: %s\n", uuid.c_str(), control::ComputeModeName(*mode));
  }
  return 0;
}

}  // namespace

void AddDevice(Command& tutti) {
  struct DeviceOptions {
    std::string device, mode;
    bool json = false;
  };
  const auto options = std::make_shared<DeviceOptions>();
  Command& device = tutti.AddCommand("device", "List this machine's devices; set their compute mode");
  device.AddFlag("--json", &options->json, "As JSON");
  device.Do([options] { return ListAll(options->json); });
  Command& list = device.AddCommand("list", "List them (the default)");
  list.AddFlag("--json", &options->json, "As JSON");
  Command& mode = device.AddCommand("mode", "Set a device's compute mode (root); it survives restarts");
  mode.AddOption("device", &options->device, "Ordinal, UUID or its beginning, or all").Required();
  mode.AddOption("mode", &options->mode, "DEFAULT, EXCLUSIVE_PROCESS (only programs of the daemon) or PROHIBITED")
      .Required();
  mode.Do([options] { return SetMode(options->device, options->mode); });
}

}  // namespace tutti::cli
