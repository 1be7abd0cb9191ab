// "Did you mean": the word of a list that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::control {

// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours; "" if all are too far away to be
// meant.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tutti::control
