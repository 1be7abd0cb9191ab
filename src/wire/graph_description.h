// A graph as a client describes it for its kernels to launch (RecordKind::kGraphUpload): launches, copies, fills and
// joints between them, each behind others that come before it in the description. So no order of them is a circle.
//
//   u32 nodes, then for each:
//   u32 kind (RecordKind), u64 what kernels change it by (0: they do not), u32 whether it does anything (1) or not (0)
//   u32 count of the nodes that it waits for, and their numbers, each below its own
//   u32 bytes of its work, and the work: the body of a record of that kind, and a launch's arguments; of kMarker, which
//   is a joint, nothing
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/ring_layout.h"

namespace tutti::wire {

struct GraphNode {
  RecordKind kind = RecordKind::kMarker;  // kLaunch, kCopy, kFill or kMarker
  uint64_t device_node = 0;  // of a launch (cudaGraphDeviceNode_t), by the client's choice
  bool enabled = true;
  std::vector<uint32_t> before;
  LaunchBody launch{};
  uint32_t cluster[3] = {1, 1, 1};
  std::vector<uint8_t> arguments;
  CopyBody copy{};
  FillBody fill{};
};

// The client's side. Nodes are numbered as they are added.
class GraphWriter {
 public:
  uint32_t Add(RecordKind kind, std::span<const uint32_t> before, std::span<const uint8_t> body = {},
               std::span<const uint8_t> arguments = {}, uint64_t device_node = 0, bool enabled = true);
  uint32_t nodes() const { return nodes_; }
  uint64_t edges() const { return edges_; }
  std::vector<uint8_t> Take();

 private:
  ByteWriter out_;
  uint32_t nodes_ = 0;
  uint64_t edges_ = 0;
};

// The server's side: everything that the description alone shows is checked. Fails if a client's library has not made
// it.
Result<std::vector<GraphNode>> ParseGraph(std::span<const uint8_t> description);

}  // namespace tutti::wire
