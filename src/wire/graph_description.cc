#include "wire/graph_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/validate.h"

namespace tutti::wire {
namespace {

// The work of a node is checked as the record's would be that it is laid out like.
Status ReadWork(std::span<const uint8_t> work, GraphNode* node) {
  std::vector<uint8_t> bytes(work.begin(), work.end());
  bytes.resize(std::max<size_t>(bytes.size(), kBodyBytes));
  const Untrusted<RawRecord> record(RawRecord{.kind = node->kind, .bytes = bytes});
  switch (node->kind) {
    case RecordKind::kLaunch: {
      TUTTI_ASSIGN(const Launch launch, ValidateLaunch(record));
      if (launch.body.flags != 0) return Fail("a graph of kernels with a launch that none of them makes");
      node->launch = launch.body;
      std::ranges::copy(launch.cluster, node->cluster);
      node->arguments.assign(launch.arguments.begin(), launch.arguments.end());
      return {};
    }
    case RecordKind::kCopy: {
      TUTTI_ASSIGN(node->copy, ValidateCopy(record));
      return {};
    }
    case RecordKind::kFill: {
      TUTTI_ASSIGN(node->fill, ValidateFill(record));
      return {};
    }
    case RecordKind::kMarker: return {};
    default: return Fail("a graph of kernels with a node of another kind");
  }
}

}  // namespace

uint32_t GraphWriter::Add(RecordKind kind, std::span<const uint32_t> before, std::span<const uint8_t> body,
                          std::span<const uint8_t> arguments, uint64_t device_node, bool enabled) {
  out_.Put(uint32_t{static_cast<uint8_t>(kind)});
  out_.Put(device_node);
  out_.Put(uint32_t{enabled});
  out_.Put(static_cast<uint32_t>(before.size()));
  edges_ += before.size();
  for (const uint32_t node : before) out_.Put(node);
  std::vector<uint8_t> work(body.begin(), body.end());
  work.insert(work.end(), arguments.begin(), arguments.end());
  out_.PutBytes(work);
  return nodes_++;
}

std::vector<uint8_t> GraphWriter::Take() {
  ByteWriter all;
  all.Put(nodes_);
  std::vector<uint8_t> description = all.Take();
  const std::vector<uint8_t> nodes = out_.Take();
  description.insert(description.end(), nodes.begin(), nodes.end());
  return description;
}

Result<std::vector<GraphNode>> ParseGraph(std::span<const uint8_t> description) {
  constexpr uint32_t kHeadBytes = 4 * sizeof(uint32_t) + sizeof(uint64_t);
  ByteReader in(description);
  const uint32_t count = in.GetCount(kHeadBytes);
  if (count > kMostGraphNodes) return Fail(fmt::format("a graph of kernels with {} nodes", count));
  std::vector<GraphNode> nodes;
  nodes.reserve(count);
  uint64_t edges = 0;
  for (uint32_t number = 0; number < count && in.ok(); ++number) {
    GraphNode node;
    const auto kind = in.Get<uint32_t>();
    if (kind > 0xff) return Fail("a graph of kernels with a node of another kind");
    node.kind = static_cast<RecordKind>(kind);
    node.device_node = in.Get<uint64_t>();
    const auto enabled = in.Get<uint32_t>();
    node.enabled = enabled != 0;
    if (enabled > 1 || ((node.device_node != 0 || !node.enabled) && node.kind != RecordKind::kLaunch))
      return Fail("a node of a graph that kernels cannot change as it says");
    const uint32_t before = in.GetCount(sizeof(uint32_t));
    edges += before;
    if (edges > kMostGraphEdges) return Fail("a graph of kernels with too many edges");
    node.before.reserve(before);
    for (uint32_t i = 0; i < before; ++i) {
      node.before.push_back(in.Get<uint32_t>());
      if (node.before.back() >= number) return Fail("a node of a graph that waits for a later one");
    }
    const std::span<const uint8_t> work = in.GetBytes();
    if (!in.ok()) break;
    TUTTI_TRY(ReadWork(work, &node));
    nodes.push_back(std::move(node));
  }
  if (!in.ok() || nodes.size() != count || count == 0 || !in.at_end())
    return Fail("a graph of kernels that ends elsewhere than it says");
  return nodes;
}

}  // namespace tutti::wire
