#include <fmt/format.h>

#include "control/client_table.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

void AppendRows(control::TextTable& table, const std::string& server, const Devices& devices) {
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    const wire::ServedDevice& device = devices[ordinal];
    table.rows.push_back({std::to_string(ordinal), server, commands::PciAddress(device),
                          control::FormatUuid(device.uuid), device.name, std::to_string(device.sm_count),
                          std::to_string(device.sm_count / device.sms_per_chunk), "-"});
  }
}

// Ordinals are per server and number the devices it may use. "-": the daemon's.
void List(const Request& request) {
  const std::string* const only = request.option("server");
  if (only != nullptr && FindServer(request, *only) == nullptr) return;
  request.context().inventory.Ask([request](const Result<Devices>& devices) {
    if (!devices) return request.Refuse(devices.error().text);
    control::TextTable table{
        .columns = {"ORDINAL", "SERVER", "PCI ID", "DEVICE UUID", "NAME", "TOTAL SMS", "TOTAL CHUNKS", "ATTRIBUTES"}};
    const std::string* const only = request.option("server");
    if (only == nullptr) AppendRows(table, "-", *devices);
    for (const ServerHandle* server : commands::VisibleServers(request.call)) {
      if (only == nullptr || server->name() == *only) AppendRows(table, server->name(), server->devices());
    }
    request.Print(table);
  });
}

}  // namespace

const Module& DeviceModule() {
  static const Verb verbs[] = {
      {"list",
       "",
       {{"server", "name"}, {"format", "table|csv|json"}},
       "the devices, of the daemon and of each running server",
       List},
  };
  static const Module module{"device", "the devices", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
