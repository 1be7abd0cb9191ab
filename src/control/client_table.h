// The table that `ps` prints, with NVIDIA's column widths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::control {

struct ClientRow {
  uint32_t pid = 0;
  uint32_t id = 0;  // the server's number for the client
  uint32_t server_pid = 0;
  std::string device;  // prefix of the UUID: "GPU-cb1213a3-d6a4-be7f"
  uint64_t pid_namespace = 0;
  std::string command_line;
};

// Header and one line per row. Control characters in command lines, which clients choose, are shown as '?'.
std::string FormatClientTable(const std::vector<ClientRow>& rows);

// "GPU-" and the UUID in its usual grouping.
std::string FormatUuid(const uint8_t (&uuid)[16]);
// Its first three groups, as `ps` shows a device.
std::string ShortUuid(const std::string& uuid);

}  // namespace tutti::control
