// What a node says about its devices: the labels of GPU feature discovery, and those that Cast AI's autoscaler puts on.
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
// Of the node template, if it wants one.
std::vector<Taint> NodeTaints(const Config& config);

// "key=value" lines, as node-feature-discovery reads them from its features.d directory. The file is replaced at once,
// so that half a file is never read.
Status WriteFeatureFile(const std::string& path, const std::map<std::string, std::string>& labels);

}  // namespace tutti::sharing
