#include "control/client_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace tutti::control {

std::string FormatClientTable(const std::vector<ClientRow>& rows) {
  size_t device_width = std::string_view("DEVICE").size();
  for (const ClientRow& row : rows) device_width = std::max(device_width, row.device.size());
  ++device_width;
  const auto line = [&](std::string_view pid, std::string_view id, std::string_view server, std::string_view device,
                        std::string_view name_space, std::string_view command) {
    return fmt::format("{:<10}{:<10}{:<15}{:<{}}{:<15}{:<15}\n", pid, id, server, device, device_width, name_space,
                       command);
  };
  std::string table = line("PID", "ID", "SERVER", "DEVICE", "NAMESPACE", "COMMAND");
  for (const ClientRow& row : rows) {
    table += line(std::to_string(row.pid), std::to_string(row.id), std::to_string(row.server_pid), row.device,
                  std::to_string(row.pid_namespace), Printable(row.command_line));
  }
  return table;
}

std::string FormatUuid(const uint8_t (&uuid)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

std::string ShortUuid(const std::string& uuid) {
  return uuid.substr(0, std::string_view("GPU-cb1213a3-d6a4-be7f").size());
}

}  // namespace tutti::control
