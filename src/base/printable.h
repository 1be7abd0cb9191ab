// Makes untrusted text safe for a terminal and for a log line: replaces control characters, both ASCII's and Unicode's
// C1 set (U+0080 to U+009F), of which terminals take U+009B for "escape [".
#pragma once

#include <string>
#include <string_view>

namespace tutti {

inline std::string Printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool second_set = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    shown += second_set || byte < 0x20 || byte == 0x7f ? '?' : text[i];
    i += second_set;
  }
  return shown;
}

// The same for terminal text of several lines: newlines and tabs stay.
inline std::string PrintableLines(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t end = text.find_first_of("\n\t");
    shown += Printable(text.substr(0, end));
    if (end == text.npos) break;
    shown += text[end];
    text.remove_prefix(end + 1);
  }
  return shown;
}

}  // namespace tutti
