// The files that a command line names, where "-" is standard input or standard output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::command_line {

// All of it. An error names the file.
Result<std::vector<uint8_t>> ReadInput(const std::string& path);

// In place of what is there. An error names the file, also where only a part could be written. "" is standard output
// as well.
Status WriteOutput(const std::string& path, std::span<const uint8_t> bytes);

}  // namespace tutti::command_line
