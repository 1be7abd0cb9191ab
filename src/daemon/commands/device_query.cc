// NVIDIA documents the columns of this answer and the blocks "Default" and "Server <pid>", not its exact layout. The
// policy column is ours; it comes last, so that scripts which count columns from the left find NVIDIA's.
#include <fmt/format.h>

#include <iterator>

#include "control/client_table.h"
#include "control/text_table.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

// "-" means no attribute: no device here can be split by memory locality (M) or is part of one that is (MD).
control::TextTable DeviceTable(const Devices& devices, const std::string& policy) {
  control::TextTable table{.columns = {"Device Ordinal", "PCI IDs", "UUID", "Name", "Attributes", "Policy"}};
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    const wire::ServedDevice& device = devices[ordinal];
    table.rows.push_back(
        {std::to_string(ordinal), PciAddress(device), control::FormatUuid(device.uuid), device.name, "-", policy});
  }
  return table;
}

std::string Block(const std::string& title, const control::TextTable& table, bool csv) {
  return title + "\n" + (csv ? control::FormatCsv(table, true) : control::FormatText(table, true));
}

}  // namespace

void DeviceQuery(const CommandCall& call) {
  bool csv = false;
  const ServerHandle* only = nullptr;
  for (size_t i = 1; i < call.words.size(); ++i) {
    if (call.word(i) == "--csv") {
      csv = true;
    } else if ((only = NamedServer(call, i, Access::kSee)) == nullptr) {
      return;
    }
  }
  if (only != nullptr)
    return call.reply.Text(
        Block(fmt::format("Server {}", only->pid()), DeviceTable(only->devices(), only->policy()), csv));
  call.context.inventory.Ask([call, csv](const Result<Devices>& devices) {
    if (!devices) return call.reply.Line(devices.error().text);
    std::string text = Block("Default", DeviceTable(*devices, call.context.defaults.policy), csv);
    for (const ServerHandle* server : VisibleServers(call)) {
      text += Block(fmt::format("Server {}", server->pid()), DeviceTable(server->devices(), server->policy()), csv);
    }
    call.reply.Text(std::move(text));
  });
}

}  // namespace tutti::daemon::commands
