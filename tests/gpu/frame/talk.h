// A program that is asked something on its standard input.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tutti::gpu {

// Runs the program with `input`; its output and errors, of which 4 KiB. `well`: whether it ended in time, with status
// 0. One that does not is ended.
std::string Talk(const std::string& program, const std::vector<std::string>& options, const std::string& input,
                 const std::vector<std::pair<std::string, std::string>>& environment, double seconds, bool* well);

}  // namespace tutti::gpu
