#include "control/object_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/words.h"

namespace tutti::control {
namespace {

constexpr size_t kLongestName = 64;
constexpr std::string_view kEveryDevice = "GPU-";  // prefix of every UUID

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Protocol 3 adds K to protocol 2's G and M.
Result<uint64_t> ParseSize(std::string_view text) {
  const bool kibi = text.ends_with('K') || text.ends_with("KB");
  if (!kibi) return ParseMemory(text);
  const auto number = ParseNumber(text.substr(0, text.find('K')));
  if (!number || *number == 0)
    return Fail(fmt::format("memory limit \"{}\" is not a size: give a whole number and G, M or K", text));
  return uint64_t{*number} << 10;
}

}  // namespace

Status CheckObjectName(std::string_view what, std::string_view name) {
  if (!name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, IsNameCharacter)) return {};
  return Fail(fmt::format("{} name \"{}\" is not allowed: use 1 to {} lower-case letters, digits and underscores", what,
                          name.substr(0, 2 * kLongestName), kLongestName));
}

Result<bool> ParseBoolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return Fail(fmt::format("\"{}\" is neither true nor false", text));
}

Result<MemoryLimits> ParseMemoryLimits(std::string_view text) {
  MemoryLimits limits;
  if (text == "none") return limits;
  if (text.find('=') == std::string_view::npos) {
    TUTTI_ASSIGN(const uint64_t bytes, ParseSize(text));
    limits.Set(kEveryDevice, bytes);
    return limits;
  }
  for (const std::string& entry : SplitList(text)) {
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string device = entry.substr(0, equals);
    if (!IsDeviceIdentifier(device)) {
      return Fail(fmt::format("memory limit \"{}\" does not name a device: write 0=2G or GPU-1234=512M", entry));
    }
    TUTTI_ASSIGN(const uint64_t bytes, ParseSize(std::string_view(entry).substr(std::min(equals + 1, entry.size()))));
    limits.Set(device, bytes);
  }
  return limits;
}

}  // namespace tutti::control
