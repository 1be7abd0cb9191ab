// Splits a command line into words, as the control language does: at white space, without quoting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::control {

std::vector<std::string> SplitWords(std::string_view line);

// "a,b,c"; nothing for an empty text. Trims spaces around entries.
std::vector<std::string> SplitList(std::string_view text);

// A decimal number without sign that fits; nothing for anything else.
std::optional<uint32_t> ParseNumber(std::string_view word);

}  // namespace tutti::control
