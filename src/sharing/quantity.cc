#include "sharing/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tutti::sharing {
namespace {

// clang-format off
constexpr std::array<std::pair<std::string_view, double>, 14> kSuffixes = {{
    {"", 1.0}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18},
    {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60},
}};
// clang-format on

}  // namespace

Result<double> ParseQuantity(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error == std::errc{} && std::isfinite(number) && number >= 0) {
    const std::string_view suffix(end, text.data() + text.size());
    for (const auto& [name, factor] : kSuffixes) {
      if (suffix == name) return number * factor;
    }
  }
  return Fail(fmt::format("\"{}\" is no quantity: write a number with one of m, k, M, G, T, Ki, Mi, Gi, Ti, as in 2Gi",
                          text.substr(0, 40)));
}

Result<uint64_t> ParseBytes(std::string_view text) {
  TUTTI_ASSIGN(const double bytes, ParseQuantity(text));
  if (bytes >= 0x1p63) return Fail(fmt::format("\"{}\" is more memory than there can be", text.substr(0, 40)));
  return static_cast<uint64_t>(bytes);
}

}  // namespace tutti::sharing
