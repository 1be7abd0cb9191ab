#include "control/words.h"

#include <charconv>

namespace tutti::control {

std::vector<std::string> SplitWords(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::vector<std::string> words;
  for (size_t start = line.find_first_not_of(kBlanks); start != std::string_view::npos;) {
    const size_t end = line.find_first_of(kBlanks, start);
    words.emplace_back(line.substr(start, end - start));
    start = end == std::string_view::npos ? end : line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::optional<uint32_t> ParseNumber(std::string_view word) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

}  // namespace tutti::control
