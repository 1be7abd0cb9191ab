// What is to change on a Node object so that it carries our labels and taints, and no longer those we once put there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "sharing/node_labels.h"

namespace tutti::kubernetes {

struct NodeMarks {
  std::map<std::string, std::string> labels;
  std::vector<sharing::Taint> taints;
  bool operator==(const NodeMarks&) const = default;
};

// The keys of what we have put on a node, so that a later plugin, with another configuration, can take it off again.
inline constexpr const char* kLabelsAnnotation = "tutti.dev/node-labels";
inline constexpr const char* kTaintsAnnotation = "tutti.dev/node-taints";

// `node` is the object as the API server has sent it. The answer is a JSON merge patch; empty if there is nothing to
// do. A list can only be patched as a whole, so the patch names the version it was made from: the API server refuses it
// (409) if somebody else has changed the node meanwhile. Fails if `node` is no Node.
Result<std::string> MakeNodePatch(const std::string& node, const NodeMarks& marks);

}  // namespace tutti::kubernetes
