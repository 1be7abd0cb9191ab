// What can come next on a command line, learnt from the daemon's own `help`: so it is right for either protocol.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::daemon {

// The words that may be meant by the last, unfinished word of `line` (empty after a blank). `help` is the answer to
// `help`: one command per line, its literal words in small letters, before the first two blanks.
std::vector<std::string> Completions(std::string_view help, std::string_view line);

// What all of `words` begin with.
std::string CommonStart(const std::vector<std::string>& words);

}  // namespace tutti::daemon
