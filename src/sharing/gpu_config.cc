#include "sharing/gpu_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sharing/document.h"
#include "sharing/quantity.h"

namespace tutti::sharing {
namespace {

Result<uint64_t> ReadLimit(const Value& value) {
  TUTTI_ASSIGN(const std::string text, value.Text());
  const auto bytes = ParseBytes(text);
  if (!bytes) return value.Wrong(bytes.error().text);
  if (*bytes < 1 << 20) return value.Wrong(fmt::format("invalid limit {}: value set too low: less than 1Mi", text));
  return *bytes;
}

Status ReadMps(const Value& mps, GpuConfig& config) {
  TUTTI_TRY(mps.OnlyKeys({"defaultActiveThreadPercentage", "defaultPinnedDeviceMemoryLimit",
                          "defaultPerDevicePinnedMemoryLimit", "multiUser"}));
  if (const auto percentage = mps.Find("defaultActiveThreadPercentage")) {
    TUTTI_ASSIGN(const int64_t value, percentage->Integer());
    if (value < 0) return percentage->Wrong("active thread percentage must not be negative");
    if (value > 100) return percentage->Wrong("active thread percentage must not be greater than 100");
    config.percentage = static_cast<int>(value);
  }
  if (const auto limit = mps.Find("defaultPinnedDeviceMemoryLimit")) {
    TUTTI_ASSIGN(config.memory_bytes, ReadLimit(*limit));
  }
  if (const auto limits = mps.Find("defaultPerDevicePinnedMemoryLimit")) {
    if (!limits->IsMap())
      return limits->Wrong("defaultPerDevicePinnedMemoryLimit must be a map from an index or UUID to a quantity");
    for (const std::string& device : limits->Keys()) {
      if (const auto limit = limits->Find(device)) {
        TUTTI_ASSIGN(config.memory_bytes_by_device[device], ReadLimit(*limit));
      }
    }
  }
  if (const auto multi_user = mps.Find("multiUser")) {
    TUTTI_ASSIGN(config.multi_user, multi_user->Boolean());
  }
  return {};
}

}  // namespace

Result<GpuConfig> ReadGpuConfig(std::string_view text, const std::string& name) {
  TUTTI_ASSIGN(const Value root, ReadDocument(text, name));
  TUTTI_TRY(root.OnlyKeys({"apiVersion", "kind", "sharing"}));
  GpuConfig config;
  if (const auto kind = root.Find("kind")) TUTTI_TRY(kind->OneOf({"GpuConfig", "MigDeviceConfig"}));
  if (const auto version = root.Find("apiVersion")) TUTTI_TRY(version->OneOf({"resource.nvidia.com/v1beta1"}));
  const auto sharing = root.Find("sharing");
  if (!sharing) return config;
  TUTTI_TRY(sharing->OnlyKeys({"strategy", "mpsConfig", "timeSlicingConfig"}));
  const auto strategy = sharing->Find("strategy");
  const std::string word = strategy ? strategy->Shown() : "TimeSlicing";
  if (word != "MPS" && word != "TimeSlicing") {
    return strategy->Wrong(fmt::format("unknown GPU sharing strategy: {}, supported: TimeSlicing, MPS", word));
  }
  config.mps = word == "MPS";
  const auto mps = sharing->Find("mpsConfig");
  const auto slicing = sharing->Find("timeSlicingConfig");
  if (mps && !config.mps) return mps->Wrong("mpsConfig needs strategy MPS");
  if (slicing && config.mps) return slicing->Wrong("timeSlicingConfig needs strategy TimeSlicing");
  if (slicing) TUTTI_TRY(slicing->OnlyKeys({"interval"}));
  if (mps) TUTTI_TRY(ReadMps(*mps, config));
  return config;
}

Result<std::vector<std::string>> GpuConfigCommands(const GpuConfig& config, std::span<const std::string> uuids) {
  std::map<std::string, uint64_t> limits;
  if (config.memory_bytes) {
    for (const std::string& uuid : uuids) limits[uuid] = *config.memory_bytes;
  }
  for (const auto& [device, bytes] : config.memory_bytes_by_device) {
    size_t index = uuids.size();
    const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
    const bool is_index = error == std::errc{} && end == device.data() + device.size();
    if (!is_index) index = static_cast<size_t>(std::find(uuids.begin(), uuids.end(), device) - uuids.begin());
    if (index >= uuids.size())
      return Fail(fmt::format("invalid device \"{}\": the claim has {} devices; use an index or one of their UUIDs",
                              device, uuids.size()));
    limits[uuids[index]] = bytes;
  }
  std::vector<std::string> commands;
  if (config.percentage) commands.push_back(fmt::format("set_default_active_thread_percentage {}", *config.percentage));
  for (const auto& [uuid, bytes] : limits)
    commands.push_back(fmt::format("set_default_device_pinned_mem_limit {} {}M", uuid, bytes >> 20));
  return commands;
}

}  // namespace tutti::sharing
