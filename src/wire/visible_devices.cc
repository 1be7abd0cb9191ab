#include "wire/visible_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tutti::wire {
namespace {

std::optional<uint32_t> Named(std::string_view entry, std::span<const DeviceInfo> devices) {
  if (entry.starts_with("GPU-")) {
    for (uint32_t i = 0; i < devices.size(); ++i) {
      if (UuidText(devices[i].uuid).starts_with(entry)) return i;
    }
    return std::nullopt;
  }
  uint32_t ordinal = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), ordinal);
  if (error != std::errc{} || end != entry.data() + entry.size() || ordinal >= devices.size()) return std::nullopt;
  return ordinal;
}

}  // namespace

std::vector<uint32_t> VisibleDevices(std::string_view list, std::span<const DeviceInfo> devices) {
  std::vector<uint32_t> visible;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    const auto index = Named(entry, devices);
    if (!index || std::ranges::find(visible, *index) != visible.end()) break;
    visible.push_back(*index);
  }
  return visible;
}

std::string UuidText(const uint8_t (&uuid)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

}  // namespace tutti::wire
