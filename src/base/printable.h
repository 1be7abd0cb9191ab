// Text that strangers chose, fit for a terminal and for a line of a log: control characters are replaced, those of one
// byte and those of Unicode's second set (U+0080 to U+009F), of which terminals take U+009B for "escape [".
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

// The same of text for a terminal that may have several lines, and tabs in them: those stay.
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
