#include "sharing/config.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "sharing/document.h"

namespace tutti::sharing {
namespace {

Status ReadSharing(const Value& sharing, Config& config) {
  TUTTI_TRY(sharing.OnlyKeys({"timeSlicing", "mps"}));
  const auto slicing = sharing.Find("timeSlicing");
  const auto mps = sharing.Find("mps");
  if (slicing && mps) return mps->Wrong("sharing.mps and sharing.timeSlicing exclude each other: keep one");
  if (!slicing && !mps) return {};
  // NVIDIA's plugin refuses requests for several replicas under MPS unless the file says otherwise.
  TUTTI_ASSIGN(config.replication, ReadReplication(mps ? *mps : *slicing, mps.has_value(),
                                                   config.extension.single_replica, config.warnings));
  if (config.replication.resources.empty()) return {};  // it concerns devices of other kinds only
  config.strategy = mps ? Strategy::kMps : Strategy::kTimeSlicing;
  return {};
}

// NVIDIA's format has customised resources, but its plugin refuses them.
Status ReadResources(const Value& resources, Config& config) {
  TUTTI_TRY(resources.OnlyKeys({"gpus", "mig"}));
  for (const char* key : {"gpus", "mig"}) {
    const auto list = resources.Find(key);
    if (!list) continue;
    TUTTI_ASSIGN(const std::vector<Value> items, list->Items());
    for (const Value& item : items) TUTTI_TRY(item.OnlyKeys({"pattern", "name"}));
    config.warnings.push_back("Customizing the 'resources' field is not yet supported in the config. Ignoring...");
  }
  return {};
}

Status ReadImex(const Value& imex) {
  TUTTI_TRY(imex.OnlyKeys({"channelIDs", "required"}));
  if (const auto ids = imex.Find("channelIDs")) TUTTI_TRY(ids->Items());
  if (const auto required = imex.Find("required")) TUTTI_TRY(required->Boolean());
  return {};
}

// Shares in addition to or instead of `sharing.mps`.
Status CheckShares(const Value& root, Config& config) {
  if (config.extension.shares.empty()) return {};
  if (config.strategy == Strategy::kTimeSlicing) return root.Wrong("tutti.shares need MPS: remove sharing.timeSlicing");
  config.strategy = Strategy::kMps;
  for (const Share& share : config.extension.shares) {
    for (const ReplicatedResource& resource : config.replication.resources) {
      if (share.resource != (resource.rename.empty() ? resource.name : resource.rename)) continue;
      return root.Wrong(
          fmt::format("resource {} is both in sharing.mps and in tutti.shares: keep one", share.resource));
    }
  }
  return {};
}

// A template has many keys that are not about sharing, and new ones appear: only those that resemble ours count as
// typos.
Status CheckTemplateKeys(const Value& root) {
  constexpr std::string_view kOurs[] = {"name", "shouldTaint", "gpu", "flags", "tutti"};
  for (const std::string& key : root.Keys()) {
    const std::string_view near = Nearest(key, kOurs);
    if (near.empty() || near == key) continue;
    const auto value = root.Find(key);
    return (value ? *value : root)
        .Wrong(fmt::format("unknown key \"{}\" in the node template; did you mean {}?", key, near));
  }
  return {};
}

// The API's object has no sections `flags` and `tutti`; they may stand beside `gpu`.
Result<Config> FromTemplate(const Value& root) {
  TUTTI_TRY(CheckTemplateKeys(root));
  Config config;
  if (const auto flags = root.Find("flags")) {
    TUTTI_ASSIGN(config.flags, ReadFlags(*flags));
  }
  if (const auto extension = root.Find("tutti")) {
    TUTTI_ASSIGN(config.extension, ReadExtension(*extension));
  }
  TUTTI_ASSIGN(NodeTemplate node_template, ReadNodeTemplate(root));
  if (node_template.strategy != Strategy::kNone) {
    config.strategy = node_template.strategy;
    config.replication.resources.push_back(
        {.name = "nvidia.com/gpu", .rename = "", .devices = AllDevices{}, .replicas = node_template.default_clients});
    config.extension.single_replica = true;
  }
  config.node_template = std::move(node_template);
  TUTTI_TRY(CheckShares(root, config));
  return config;
}

}  // namespace

const char* StrategyName(Strategy strategy) {
  switch (strategy) {
    case Strategy::kNone: return "none";
    case Strategy::kMps: return "mps";
    case Strategy::kTimeSlicing: return "time-slicing";
  }
  return "none";
}

Result<Config> ReadConfig(std::string_view text, const std::string& name) {
  TUTTI_ASSIGN(const Value root, ReadDocument(text, name));
  if (const auto gpu = root.Find("gpu")) {
    if (root.Find("sharing")) return gpu->Wrong("gpu, a node template's, and sharing exclude each other: keep one");
    return FromTemplate(root);
  }
  TUTTI_TRY(root.OnlyKeys({"version", "flags", "resources", "sharing", "imex", "tutti"}));
  if (const auto version = root.Find("version"); version && version->Shown() != "v1") {
    return version->Wrong(fmt::format("unknown version: {} (v1 is the one there is)", version->Shown()));
  }
  Config config;
  if (const auto flags = root.Find("flags")) {
    TUTTI_ASSIGN(config.flags, ReadFlags(*flags));
  }
  if (const auto resources = root.Find("resources")) TUTTI_TRY(ReadResources(*resources, config));
  if (const auto imex = root.Find("imex")) TUTTI_TRY(ReadImex(*imex));
  if (const auto extension = root.Find("tutti")) {
    TUTTI_ASSIGN(config.extension, ReadExtension(*extension));
  }
  if (const auto sharing = root.Find("sharing")) TUTTI_TRY(ReadSharing(*sharing, config));
  TUTTI_TRY(CheckShares(root, config));
  return config;
}

Status CheckConfig(const Config& config) {
  TUTTI_TRY(CheckFlags(config.flags));
  if (config.strategy != Strategy::kMps) return {};
  if (config.flags.mig_strategy == "mixed") return Fail("using --mig-strategy=mixed is not supported with MPS");
  // A node template cannot express it.
  if (config.flags.mps_root.empty() && !config.node_template)
    return Fail("using MPS requires --mps-root to be specified");
  return {};
}

}  // namespace tutti::sharing
