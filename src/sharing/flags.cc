#include "sharing/flags.h"

#include <fmt/format.h>

namespace tutti::sharing {
namespace {

// Each reader keeps the default if the key is missing.
Status ReadTo(const Value& map, const char* key, bool& to) {
  if (const auto value = map.Find(key)) {
    TUTTI_ASSIGN(to, value->Boolean());
  }
  return {};
}

Status ReadTo(const Value& map, const char* key, std::string& to) {
  if (const auto value = map.Find(key)) {
    TUTTI_ASSIGN(to, value->Text());
  }
  return {};
}

Status CheckText(const Value& map, std::initializer_list<const char*> keys) {
  std::string unused;
  for (const char* key : keys) TUTTI_TRY(ReadTo(map, key, unused));
  return {};
}

Status ReadListStrategy(const Value& plugin, Flags& flags) {
  const auto value = plugin.Find("deviceListStrategy");
  if (!value) return {};
  std::vector<std::string> names;
  if (value->IsList()) {
    TUTTI_ASSIGN(const std::vector<Value> items, value->Items());
    for (const Value& item : items) {
      TUTTI_ASSIGN(std::string name, item.Text());
      names.push_back(std::move(name));
    }
  } else {
    TUTTI_ASSIGN(std::string name, value->Text());
    names.push_back(std::move(name));
  }
  auto strategies = ParseListStrategies(names);
  if (!strategies) return value->Wrong(strategies.error().text);
  flags.list_strategies = std::move(*strategies);
  return {};
}

Status ReadPlugin(const Value& plugin, Flags& flags) {
  TUTTI_TRY(
      plugin.OnlyKeys({"passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy", "cdiAnnotationPrefix",
                       "nvidiaCTKPath", "nvidiaCDIHookPath", "containerDriverRoot", "sharedDevicesAllocationPolicy"}));
  TUTTI_TRY(ReadTo(plugin, "passDeviceSpecs", flags.pass_device_specs));
  TUTTI_TRY(ReadListStrategy(plugin, flags));
  TUTTI_TRY(ReadTo(plugin, "deviceIDStrategy", flags.device_id_strategy));
  TUTTI_TRY(ReadTo(plugin, "cdiAnnotationPrefix", flags.cdi_annotation_prefix));
  TUTTI_TRY(ReadTo(plugin, "sharedDevicesAllocationPolicy", flags.allocation_policy));
  return CheckText(plugin, {"nvidiaCTKPath", "nvidiaCDIHookPath", "containerDriverRoot"});
}

Status ReadFeatureDiscovery(const Value& gfd) {
  TUTTI_TRY(gfd.OnlyKeys({"oneshot", "noTimestamp", "sleepInterval", "outputFile", "machineTypeFile"}));
  bool unused;
  for (const char* key : {"oneshot", "noTimestamp"}) TUTTI_TRY(ReadTo(gfd, key, unused));
  return CheckText(gfd, {"sleepInterval", "outputFile", "machineTypeFile"});
}

}  // namespace

Result<std::set<ListStrategy>> ParseListStrategies(const std::vector<std::string>& names) {
  std::set<ListStrategy> strategies;
  for (const std::string& name : names) {
    if (name == "envvar")
      strategies.insert(ListStrategy::kEnvVar);
    else if (name == "volume-mounts")
      strategies.insert(ListStrategy::kVolumeMounts);
    else if (name == "cdi-annotations")
      strategies.insert(ListStrategy::kCdiAnnotations);
    else if (name == "cdi-cri")
      strategies.insert(ListStrategy::kCdiCri);
    else
      return Fail(fmt::format(
          "invalid deviceListStrategy: invalid strategy: {} (envvar, volume-mounts, cdi-annotations, cdi-cri)", name));
  }
  if (strategies.empty()) return Fail("invalid deviceListStrategy: no strategy is given");
  return strategies;
}

Status CheckFlags(const Flags& flags) {
  const std::string& mig = flags.mig_strategy;
  if (mig != "none" && mig != "single" && mig != "mixed")
    return Fail(fmt::format("unknown MIG strategy: {} (none, single, mixed)", mig));
  if (flags.device_id_strategy != "uuid" && flags.device_id_strategy != "index") {
    return Fail(fmt::format("invalid --device-id-strategy option: {} (uuid, index)", flags.device_id_strategy));
  }
  if (flags.allocation_policy != "distributed" && flags.allocation_policy != "packed") {
    return Fail(fmt::format("invalid --shared-devices-allocation-policy option: {} (distributed, packed)",
                            flags.allocation_policy));
  }
  return {};
}

Result<Flags> ReadFlags(const Value& value) {
  TUTTI_TRY(value.OnlyKeys({"migStrategy", "failOnInitError", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot",
                            "gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI",
                            "deviceDiscoveryStrategy", "plugin", "gfd"}));
  Flags flags;
  TUTTI_TRY(ReadTo(value, "migStrategy", flags.mig_strategy));
  TUTTI_TRY(ReadTo(value, "failOnInitError", flags.fail_on_init_error));
  TUTTI_TRY(ReadTo(value, "mpsRoot", flags.mps_root));
  TUTTI_TRY(ReadTo(value, "gdrcopyEnabled", flags.gdrcopy_enabled));
  TUTTI_TRY(ReadTo(value, "gdsEnabled", flags.gds_enabled));
  TUTTI_TRY(ReadTo(value, "mofedEnabled", flags.mofed_enabled));
  TUTTI_TRY(CheckText(value, {"nvidiaDriverRoot", "nvidiaDevRoot"}));
  bool unused;
  TUTTI_TRY(ReadTo(value, "useNodeFeatureAPI", unused));
  if (const auto discovery = value.Find("deviceDiscoveryStrategy")) {
    TUTTI_TRY(discovery->OneOf({"auto", "nvml", "tegra"}));
  }
  if (const auto plugin = value.Find("plugin")) TUTTI_TRY(ReadPlugin(*plugin, flags));
  if (const auto gfd = value.Find("gfd")) TUTTI_TRY(ReadFeatureDiscovery(*gfd));
  if (const Status checked = CheckFlags(flags); !checked) return value.Wrong(checked.error().text);
  return flags;
}

}  // namespace tutti::sharing
