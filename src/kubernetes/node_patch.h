// Computes the patch that gives a Node object our labels and taints and removes our former ones.
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

// The annotations that record our labels and taints, so that a later plugin with another configuration can remove them.
inline constexpr const char* kLabelsAnnotation = "tutti.dev/node-labels";
inline constexpr const char* kTaintsAnnotation = "tutti.dev/node-taints";

// `node` is the object from the API server. Returns a JSON merge patch; empty if there is nothing to do. A list can
// only be patched as a whole, so the patch includes the resource version: the API server refuses it (409) if the node
// has changed in the meantime. Fails if `node` is no Node.
Result<std::string> MakeNodePatch(const std::string& node, const NodeMarks& marks);

}  // namespace tutti::kubernetes
