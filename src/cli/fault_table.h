// The faults that servers tell of, as JSON, and as a table for people. A server runs as its user, who may make it say
// anything: what is of another shape than ours is an error that names it, and never hides the faults of others.
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

// Of one line that the daemon's `faults` answers. The error names the server and what of the line cannot be read.
Result<Fault> ReadFault(const std::string& line);

// Each with its report on a line of its own below: it is long, and has all of it.
std::string FaultTable(const std::vector<Fault>& faults);

}  // namespace tutti::cli
