#include "sharing/replication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sharing/resource_name.h"

namespace tutti::sharing {
namespace {

constexpr const char* kGpuResource = "nvidia.com/gpu";

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool IsDeviceReference(std::string_view text) {
  if (text.starts_with("GPU-") || text.starts_with("MIG-")) return true;
  const size_t colon = text.find(':');
  return IsDigits(text.substr(0, colon)) && (colon == std::string_view::npos || IsDigits(text.substr(colon + 1)));
}

Result<DeviceSelection> ReadDevices(const Value& value) {
  if (value.IsList()) {
    std::vector<std::string> list;
    TUTTI_ASSIGN(const std::vector<Value> items, value.Items());
    for (const Value& item : items) {
      const auto text = item.Text();
      if (!text || !IsDeviceReference(*text)) {
        return item.Wrong(fmt::format(
            "unsupported type for device in devices list: {}, {}: use an index (0), a MIG index (0:1) or a UUID",
            item.Shown(), item.IsQuoted() ? "string" : "scalar"));
      }
      list.push_back(*text);
    }
    return list;
  }
  if (value.IsMap()) return value.Wrong("unrecognized type for devices spec: map");
  if (const auto count = value.Integer()) {
    if (*count <= 0) return value.Wrong(fmt::format("devices set as '{}' but a count of devices must be > 0", *count));
    return *count;
  }
  if (value.Shown() == "all") return AllDevices{};
  return value.Wrong(fmt::format("devices set as '{}' but the only valid string input is 'all'", value.Shown()));
}

Result<std::string> ReadName(const Value& value) {
  TUTTI_ASSIGN(const std::string text, value.Text());
  auto full = FullResourceName(text);
  if (!full) return value.Wrong(full.error().text);
  return full;
}

Result<int64_t> ReadReplicas(const Value& value, bool single_replica) {
  TUTTI_ASSIGN(const int64_t replicas, value.Integer());
  if (replicas < (single_replica ? 1 : 2)) {
    const char* const remedy =
        replicas == 1 ? "; a single replica, not throttled, needs tutti.singleReplica: true" : "";
    return value.Wrong(
        fmt::format("number of replicas must be >= {}, but is {}{}", single_replica ? 1 : 2, replicas, remedy));
  }
  if (replicas > kMaxReplicas) {
    return value.Wrong(
        fmt::format("invalid device maximum allowed replicas exceeded: {} > {}", replicas, kMaxReplicas));
  }
  return replicas;
}

Result<ReplicatedResource> ReadResource(const Value& value, bool single_replica, std::vector<std::string>& warnings) {
  TUTTI_TRY(value.OnlyKeys({"name", "rename", "devices", "replicas"}));
  ReplicatedResource resource;
  const auto name = value.Find("name");
  if (!name) return value.Wrong("no resource name specified");
  TUTTI_ASSIGN(resource.name, ReadName(*name));
  const auto replicas = value.Find("replicas");
  if (!replicas) return value.Wrong("no replicas specified");
  TUTTI_ASSIGN(resource.replicas, ReadReplicas(*replicas, single_replica));
  if (const auto devices = value.Find("devices")) {
    TUTTI_ASSIGN(resource.devices, ReadDevices(*devices));
    if (!std::holds_alternative<AllDevices>(resource.devices)) {
      warnings.push_back(
          "Customizing the 'devices' field in sharing.mps.resources is not yet supported in the config. Ignoring...");
      resource.devices = AllDevices{};
    }
  }
  if (const auto rename = value.Find("rename")) {
    TUTTI_ASSIGN(resource.rename, ReadName(*rename));
    if (resource.rename != resource.name + ".shared") {
      warnings.push_back(
          "Customizing the 'rename' field in sharing.mps.resources is not yet supported in the config. Ignoring...");
      resource.rename.clear();
    }
  }
  return resource;
}

// Our devices are whole GPUs; an entry for another name would offer the same devices twice.
Result<bool> IsOfOurDevices(const Value& item, const std::string& name, std::vector<std::string>& warnings) {
  if (name == kGpuResource) return true;
  if (name.starts_with("nvidia.com/mig-")) {
    warnings.push_back(fmt::format("no device of this node is {}: its settings in the file are ignored", name));
    return false;
  }
  return item.Wrong(fmt::format(
      "no device is called {}: devices are {}; further names for parts of them are tutti.shares", name, kGpuResource));
}

}  // namespace

Result<Replication> ReadReplication(const Value& value, bool fail_default, bool single_replica,
                                    std::vector<std::string>& warnings) {
  TUTTI_TRY(value.OnlyKeys({"renameByDefault", "failRequestsGreaterThanOne", "resources"}));
  Replication replication;
  replication.fail_requests_greater_than_one = fail_default;
  if (const auto rename = value.Find("renameByDefault")) {
    TUTTI_ASSIGN(replication.rename_by_default, rename->Boolean());
  }
  if (const auto fail = value.Find("failRequestsGreaterThanOne")) {
    TUTTI_ASSIGN(replication.fail_requests_greater_than_one, fail->Boolean());
  }
  const auto resources = value.Find("resources");
  if (!resources) return value.Wrong("no resources specified");
  TUTTI_ASSIGN(const std::vector<Value> items, resources->Items());
  if (items.empty()) return resources->Wrong("no resources specified");
  for (const Value& item : items) {
    TUTTI_ASSIGN(ReplicatedResource resource, ReadResource(item, single_replica, warnings));
    TUTTI_ASSIGN(const bool ours, IsOfOurDevices(item, resource.name, warnings));
    if (!ours) continue;
    if (replication.rename_by_default && resource.rename.empty()) resource.rename = resource.name + ".shared";
    const auto same = [&](const ReplicatedResource& other) { return other.name == resource.name; };
    if (std::any_of(replication.resources.begin(), replication.resources.end(), same)) {
      return item.Wrong(fmt::format("resource {} stands twice: keep one", resource.name));
    }
    replication.resources.push_back(std::move(resource));
  }
  return replication;
}

}  // namespace tutti::sharing
