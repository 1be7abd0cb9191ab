#include "sharing/node_labels.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>

namespace tutti::sharing {
namespace {

struct Capability {
  int major = 0, minor = 0;
};

Capability ParseCapability(const std::string& text) {
  Capability capability;
  if (std::sscanf(text.c_str(), "%d.%d", &capability.major, &capability.minor) != 2) return {};
  return capability;
}

const char* Family(Capability capability) {
  switch (capability.major) {
    case 3: return "kepler";
    case 5: return "maxwell";
    case 6: return "pascal";
    case 7: return capability.minor < 5 ? "volta" : "turing";
    case 8: return capability.minor < 9 ? "ampere" : "ada-lovelace";
    case 9: return "hopper";
    case 10:
    case 11:
    case 12: return "blackwell";
    default: return "undefined";
  }
}

// A label's value: letters, digits, dash, underscore and dot, at most 63, of which the first and last are letters or
// digits.
std::string LabelValue(const std::string& text) {
  std::string value;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    if (plain)
      value += c;
    else if (!value.empty() && value.back() != '-')
      value += '-';
    if (value.size() == 63) break;
  }
  while (!value.empty() && std::isalnum(static_cast<unsigned char>(value.back())) == 0) value.pop_back();
  while (!value.empty() && std::isalnum(static_cast<unsigned char>(value.front())) == 0) value.erase(0, 1);
  return value;
}

bool Renamed(const Config& config) {
  const auto& resources = config.replication.resources;
  return !resources.empty() && !resources.front().rename.empty();
}

}  // namespace

std::map<std::string, std::string> NodeLabels(const Config& config, std::span<const DeviceFacts> devices) {
  std::map<std::string, std::string> labels = {
      {"nvidia.com/mig.capable", "false"},
      {"nvidia.com/gpu.count", std::to_string(devices.size())},
      {"nvidia.com/gpu.sharing-strategy", StrategyName(config.strategy)},
      {"nvidia.com/mps.capable", config.strategy == Strategy::kMps ? "true" : "false"}};
  const auto offers = MakeOffers(config, devices);
  int64_t replicas = 1;
  if (offers && !offers->empty() && !offers->front().portions.empty())
    replicas = offers->front().portions.front().replicas;
  labels["nvidia.com/gpu.replicas"] = std::to_string(devices.empty() ? 0 : replicas);
  if (!devices.empty()) {
    const DeviceFacts& device = devices.front();
    const bool shared = replicas > 1 && !Renamed(config);
    labels["nvidia.com/gpu.product"] =
        LabelValue(device.name).substr(0, 63 - (shared ? 7 : 0)) + (shared ? "-SHARED" : "");
    labels["nvidia.com/gpu.memory"] = std::to_string(device.total_bytes >> 20);
    if (!device.compute_capability.empty()) {
      const Capability capability = ParseCapability(device.compute_capability);
      labels["nvidia.com/gpu.family"] = Family(capability);
      labels["nvidia.com/gpu.compute.major"] = std::to_string(capability.major);
      labels["nvidia.com/gpu.compute.minor"] = std::to_string(capability.minor);
    }
  }
  if (config.node_template) {
    if (config.strategy != Strategy::kNone) {
      labels["scheduling.cast.ai/gpu-shared"] = std::to_string(replicas);
      labels["scheduling.cast.ai/gpu-sharing-strategy"] = StrategyName(config.strategy);
    }
    if (!config.node_template->name.empty())
      labels["scheduling.cast.ai/node-template"] = LabelValue(config.node_template->name);
  }
  return labels;
}

std::vector<Taint> NodeTaints(const Config& config) {
  if (!config.node_template || !config.node_template->taint) return {};
  return {{"scheduling.cast.ai/node-template", LabelValue(config.node_template->name), "NoSchedule"}};
}

Status WriteFeatureFile(const std::string& path, const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += fmt::format("{}={}\n", key, value);
  // node-feature-discovery skips hidden files.
  const size_t slash = path.rfind('/');
  const std::string draft = fmt::format("{}.{}.{}", path.substr(0, slash + 1), path.substr(slash + 1), getpid());
  FILE* const file = std::fopen(draft.c_str(), "w");
  if (file == nullptr) return FailErrno("cannot write the feature file " + draft);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written || std::rename(draft.c_str(), path.c_str()) != 0) {
    auto failure = FailErrno("cannot write the feature file " + path);
    std::remove(draft.c_str());
    return failure;
  }
  return {};
}

}  // namespace tutti::sharing
