#include "wire/limit_text.h"

#include <fmt/format.h>
#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/checked.h"

namespace tutti::wire {
namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr uint64_t kGiB = 1ull << 30;

std::optional<uint64_t> UnitBytes(std::string_view unit) {
  if (unit == "G" || unit == "GB") return kGiB;
  if (unit == "M" || unit == "MB") return kMiB;
  return std::nullopt;
}

bool IsHexOrDash(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number, independent of the program's locale. Not std::from_chars: for double it needs libm's rounding mode,
// and the client library links libc alone.
std::optional<double> ParseDecimal(std::string_view text) {
  static const locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  if (text.empty() || text.find_first_not_of("0123456789.+-eE") != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = strtod_l(copy.c_str(), &end, c_locale);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool Names(std::string_view identifier, uint32_t ordinal, std::string_view uuid) {
  if (std::ranges::all_of(identifier, IsDigit)) return identifier == std::to_string(ordinal);
  return uuid.starts_with(identifier);
}

}  // namespace

Result<double> ParsePercentage(std::string_view text) {
  const auto number = ParseDecimal(text);
  if (!number) {
    return Fail(fmt::format("active thread percentage \"{}\" is not a number: give one above 0 and up to 100", text));
  }
  if (*number <= 0 || *number > 100) {
    return Fail(fmt::format("active thread percentage {} is out of range: give a number above 0 and up to 100", text));
  }
  return *number;
}

std::string FormatPercentage(double percentage) { return fmt::format("{:.1f}", percentage); }

Result<uint64_t> ParseMemory(std::string_view text) {
  const auto wrong = [&] {
    return Fail(
        fmt::format("memory limit \"{}\" is not a size: give a whole number and G or M, as in 2G or 512M", text));
  };
  uint64_t number = 0;
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || number == 0) return wrong();
  const auto unit = UnitBytes(text.substr(digits.size()));
  if (!unit) return wrong();
  const auto bytes = CheckedMul(number, *unit);
  if (!bytes) return wrong();
  return *bytes;
}

std::string FormatMemory(uint64_t bytes) {
  if (bytes % kGiB == 0) return fmt::format("{}G", bytes / kGiB);
  return fmt::format("{}M", bytes / kMiB);
}

Result<int> ParsePriority(std::string_view text) {
  if (text == "0") return 0;
  if (text == "1") return 1;
  return Fail("Invalid priority value - must be 0 or 1!");
}

constexpr std::string_view kMemorySharingNames[] = {"off", "user", "all"};

Result<MemorySharing> ParseMemorySharing(std::string_view text) {
  const auto* const found = std::ranges::find(kMemorySharingNames, text);
  if (found == std::end(kMemorySharingNames))
    return Fail(fmt::format("memory sharing \"{}\" is unknown: give off, user or all", text));
  return static_cast<MemorySharing>(found - kMemorySharingNames);
}

std::string_view MemorySharingName(MemorySharing sharing) { return kMemorySharingNames[static_cast<size_t>(sharing)]; }

void MemoryLimits::Set(std::string_view device, uint64_t bytes) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.device == device; });
  entries_.push_back({std::string(device), bytes});
}

std::optional<uint64_t> MemoryLimits::Get(std::string_view device) const {
  for (const Entry& entry : entries_) {
    if (entry.device == device) return entry.bytes;
  }
  return std::nullopt;
}

uint64_t MemoryLimits::Of(uint32_t ordinal, std::string_view uuid) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (Names(entry->device, ordinal, uuid)) return entry->bytes;
  }
  return kNoMemoryLimit;
}

std::vector<std::string> MemoryLimits::Unknown(const std::vector<std::string>& uuids) const {
  std::vector<std::string> unknown;
  for (const Entry& entry : entries_) {
    bool known = false;
    for (uint32_t i = 0; i < uuids.size(); ++i) known = known || Names(entry.device, i, uuids[i]);
    if (!known) unknown.push_back(entry.device);
  }
  return unknown;
}

Result<MemoryLimits> MemoryLimits::Parse(std::string_view text) {
  MemoryLimits limits;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || !IsDeviceIdentifier(part.substr(0, equals))) {
      return Fail(fmt::format("memory limit \"{}\" does not name a device: write 0=2G or GPU-1234=512M", part));
    }
    TUTTI_ASSIGN(const uint64_t bytes, ParseMemory(part.substr(equals + 1)));
    limits.Set(part.substr(0, equals), bytes);
  }
  return limits;
}

bool IsDeviceIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  if (std::ranges::all_of(text, IsDigit)) return true;
  if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return false;
  return text.size() > 4 && std::ranges::all_of(text.substr(4), IsHexOrDash);
}

}  // namespace tutti::wire
