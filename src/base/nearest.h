// "Did you mean": the word of a list that is nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// The first of `words` that `word` abbreviates (by three letters or more), else the one with the fewest insertions,
// deletions, replacements and swaps of neighbours; both without regard to case. Empty if no word is near, that is, if
// more than a third of the letters plus one differ, or if `word` is longer than 128 letters, since the comparison is
// quadratic.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> words);
std::string Nearest(std::string_view word, const std::vector<std::string>& words);

// "; did you mean X?", or else "; there are: A, B, C".
std::string Suggestion(std::string_view word, std::span<const std::string_view> words);

}  // namespace tutti
