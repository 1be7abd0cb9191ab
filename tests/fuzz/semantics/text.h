// PTX by pieces: "$0" in a pattern is the first word, and so on.
#pragma once

#include <string>
#include <vector>

namespace semantics {

inline std::string Fill(std::string pattern, const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '$' && i + 1 < pattern.size() && pattern[i + 1] >= '0' && pattern[i + 1] <= '9')
      text += words.at(static_cast<size_t>(pattern[++i] - '0'));
    else
      text += pattern[i];
  }
  return text;
}

}  // namespace semantics
