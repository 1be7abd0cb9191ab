// A node's labels for its devices: those of GPU feature discovery, and those of Cast AI's autoscaler.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/error.h"
#include "sharing/config.h"
#include "sharing/offer.h"

namespace tutti::sharing {

std::map<std::string, std::string> NodeLabels(const Config& config, std::span<const DeviceFacts> devices);

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};
// The node template's taint, if it asks for one.
std::vector<Taint> NodeTaints(const Config& config);

// "key=value" lines, as node-feature-discovery reads them from its features.d directory. The file is replaced
// atomically.
Status WriteFeatureFile(const std::string& path, const std::map<std::string, std::string>& labels);

}  // namespace tutti::sharing
