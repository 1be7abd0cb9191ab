// Completion of a command line, derived from the daemon's own `help`, so that it is right for either protocol.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::daemon {

// The candidates for the last, unfinished word of `line` (empty after a space). `help` is the answer to `help`: one
// command per line, before the first two spaces, its literal words in lower case.
std::vector<std::string> Completions(std::string_view help, std::string_view line);

// The longest common prefix of `words`.
std::string CommonStart(const std::vector<std::string>& words);

}  // namespace tutti::daemon
