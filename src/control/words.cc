#include "control/words.h"

#include <algorithm>
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

std::vector<std::string> SplitList(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string> entries;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    entry.remove_prefix(std::min(entry.find_first_not_of(kBlanks), entry.size()));
    entries.emplace_back(entry.substr(0, entry.find_last_not_of(kBlanks) + 1));
  }
  return entries;
}

std::optional<uint32_t> ParseNumber(std::string_view word) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

}  // namespace tutti::control
