// Maintains this node's labels and taints through the API server. Works in a thread of its own, so a slow or
// unreachable server blocks nothing else; it retries for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kubernetes/api_server.h"
#include "kubernetes/node_patch.h"

namespace tutti::kubernetes {

// A node's name is a DNS name of at most 253 characters; it becomes part of a path.
Status CheckNodeName(const std::string& name);

class NodeMarker {
 public:
  NodeMarker(ApiAccess access, std::string node);
  ~NodeMarker();  // leaves labels and taints, by which running pods were placed

  // Thread-safe. Sets the desired labels and taints.
  void Want(NodeMarks marks);

 private:
  void Run();
  Status Mark(const NodeMarks& marks);

  ApiServer server_;
  const std::string node_;

  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::optional<NodeMarks> wanted_;
  uint64_t wishes_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tutti::kubernetes
