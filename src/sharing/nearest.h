// The word somebody probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti::sharing {

// The first of `words` that `word` abbreviates, else the nearest by edit distance, both without regard to case; empty if
// none is near (more than a third of the letters differ).
std::string_view Nearest(std::string_view word, std::span<const std::string_view> words);

// "; did you mean X?", or else "; there are: A, B, C".
std::string Suggestion(std::string_view word, std::span<const std::string_view> words);

}  // namespace tutti::sharing
