#include "control/configuration_text.h"

#include <fmt/format.h>

namespace tutti::control {
namespace {

constexpr size_t kMostBytes = 1 << 20;
// Each can nest one table deeper. A namespace has three of them.
constexpr size_t kMostDots = 4096;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsPlain(char byte, char next) {
  return (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\t' || (byte == '\r' && next == '\n');
}

}  // namespace

Result<std::string> ConfigurationText(std::string_view text, const std::string& source) {
  if (text.size() > kMostBytes) return Fail(fmt::format("{} is longer than {} bytes", source, kMostBytes));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string plain(text);
  size_t dots = 0;
  unsigned line = 1;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (!IsPlain(plain[i], i + 1 < plain.size() ? plain[i + 1] : '\0')) plain[i] = '?';
    if (plain[i] == '\n') ++line;
    if (plain[i] == '.' && ++dots > kMostDots) {
      return Fail(fmt::format("{}:{}: more than {} dots: names nested this deep, or so many of them, are not read",
                              source, line, kMostDots));
    }
  }
  return plain;
}

}  // namespace tutti::control
