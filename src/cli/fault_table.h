// The faults that servers report, as JSON, and as a table for people. Reports are untrusted, since a server runs as its
// user: a malformed one is an error that names it, and never hides the faults of others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::cli {

struct Fault {
  uint64_t time_ns = 0;  // since 1970
  uint32_t pid = 0;
  uint32_t uid = 0;
  int status = 0;
  std::string kernel = "-";
  std::optional<std::array<uint32_t, 3>> block, thread;
  std::optional<uint64_t> address;
  std::string line = "-";  // FILE:LINE, or "PTX LINE"
  std::string command;
  std::string report;
  std::string json;  // all of it
};

// Parses one line of the daemon's answer to `faults`. The error names the server and the unreadable field.
Result<Fault> ReadFault(const std::string& line);

// Each fault with its full report, which is long, on a line of its own below.
std::string FaultTable(const std::vector<Fault>& faults);

}  // namespace tutti::cli
