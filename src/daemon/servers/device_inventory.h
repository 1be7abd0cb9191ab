// The machine's devices as servers see them, for commands about devices that come before any server runs. Daemon thread
// only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/places.h"
#include "daemon/servers/server_handle.h"

namespace tutti::daemon {

using Devices = std::vector<wire::ServedDevice>;

class DeviceInventory {
 public:
  using Done = std::function<void(const Result<Devices>&)>;

  DeviceInventory(EventLoop& loop, control::Places places, LogBudget& log)
      : loop_(loop), places_(std::move(places)), log_(log) {}

  // Calls `done` at once if the devices are known. Else starts a server process that reports them and exits.
  void Ask(Done done);
  // Stores what a server has reported of the daemon's devices, in their order.
  void Learn(const Devices& devices) { known_ = devices; }
  const std::optional<Devices>& known() const { return known_; }

 private:
  void Ended(int status);
  void Answer(const Result<Devices>& devices);

  EventLoop& loop_;
  control::Places places_;
  LogBudget& log_;
  std::optional<Devices> known_;
  std::unique_ptr<ServerHandle> asked_;
  std::vector<Done> waiting_;
};

// The device that `text` names: an ordinal, a UUID, or an unambiguous prefix of one.
Result<uint32_t> FindDevice(const Devices& devices, std::string_view text);

}  // namespace tutti::daemon
