#include "daemon/servers/device_inventory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <utility>

#include "control/client_table.h"
#include "control/limits.h"
#include "control/words.h"
#include "daemon/access/visitor.h"

namespace tutti::daemon {

void DeviceInventory::Ask(Done done) {
  if (known_) return done(*known_);
  waiting_.push_back(std::move(done));
  if (asked_) return;
  auto launched = LaunchServer(places_, {.name = "devices", .uid = geteuid()}, -1);
  if (!launched) return Answer(std::unexpected(launched.error()));
  asked_ = std::make_unique<ServerHandle>(loop_, std::move(*launched), ServerPlan{.name = "devices", .uid = geteuid()},
                                          ServerSettings{}, kAdministrators, log_);
  asked_->Start(
      [this] {
        if (asked_->failure().empty()) known_ = asked_->devices();
        asked_->Shutdown(false);
      },
      [this](int status) { Ended(status); });
}

void DeviceInventory::Ended(int status) {
  const auto server = std::exchange(asked_, nullptr);
  if (known_) return Answer(*known_);
  Answer(Fail(!server->failure().empty()
                  ? server->failure()
                  : fmt::format("no server could be started to look at the devices (status {}): see {}", status,
                                places_.server_log())));
}

void DeviceInventory::Answer(const Result<Devices>& devices) {
  for (const Done& done : std::exchange(waiting_, {})) done(devices);
}

Result<uint32_t> FindDevice(const Devices& devices, std::string_view text) {
  if (!control::IsDeviceIdentifier(text)) {
    return Fail(fmt::format("device \"{}\" is neither an ordinal nor a UUID: give 0, 1, ... or GPU-1234abcd", text));
  }
  std::optional<uint32_t> found;
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    const bool named = control::ParseNumber(text) ? control::ParseNumber(text) == ordinal
                                                  : control::FormatUuid(devices[ordinal].uuid).starts_with(text);
    if (!named) continue;
    if (found) return Fail(fmt::format("device \"{}\" is ambiguous: give more of its UUID (see device_query)", text));
    found = ordinal;
  }
  if (!found) {
    std::vector<std::string> known;
    for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
      known.push_back(fmt::format("{} ({})", ordinal, control::FormatUuid(devices[ordinal].uuid)));
    }
    return Fail(fmt::format(
        "there is no device {}: this daemon has {}; name one of them, or start it with others in CUDA_VISIBLE_DEVICES",
        text, fmt::join(known, ", ")));
  }
  return *found;
}

}  // namespace tutti::daemon
