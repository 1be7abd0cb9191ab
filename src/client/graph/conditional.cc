#include "client/graph/conditional.h"

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/copy/fill.h"
#include "client/graph/condition.h"
#include "client/session/attachment.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

// One conditional node of a graph, and everything in it.
class BodyCheck {
 public:
  // `stream`: null if it is not to be submitted now.
  BodyCheck(const Condition& condition, const Stream* stream) : condition_(condition), stream_(stream) {}

  int Node(const ConditionalWork& work) {
    if (stream_ != nullptr) CU_TRY(CheckCondition(*work.condition));
    for (Graph* const body : work.bodies) CU_TRY(Body(*body));
    return CUDA_SUCCESS;
  }

 private:
  int CheckCondition(const Condition& condition) const {
    if (condition.alive() && &condition.device() == &stream_->context().device()) return CUDA_SUCCESS;
    return Complain(CUDA_ERROR_INVALID_HANDLE,
                    "a graph has a conditional handle of another {} than the stream that it is launched in",
                    condition.alive() ? "device" : "connection to the server");
  }

  int Body(Graph& body) {
    CU_ASSIGN(const auto order, body.KeptOrder());
    for (const GraphNode* const node : order) CU_TRY(Check(node->work()));
    return CUDA_SUCCESS;
  }

  int Check(const NodeWork& work) {
    switch (static_cast<int>(work.index())) {
      case CU_GRAPH_NODE_TYPE_KERNEL: return Kernel(std::get<KernelWork>(work));
      case CU_GRAPH_NODE_TYPE_MEMCPY: return Copy(std::get<CopyWork>(work));
      case CU_GRAPH_NODE_TYPE_MEMSET: return Fill(std::get<FillWork>(work));
      case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
      case CU_GRAPH_NODE_TYPE_GRAPH: return Body(*std::get<ChildWork>(work).graph);
      case CU_GRAPH_NODE_TYPE_CONDITIONAL: return Node(std::get<ConditionalWork>(work));
      default:
        return Complain(CUDA_ERROR_INVALID_VALUE,
                        "the body of a conditional node has a node of type {}: only kernels, copies, fills, empty "
                        "nodes, child graphs and conditional nodes may be there",
                        work.index());
    }
  }

  int Kernel(const KernelWork& work) const {
    Function* const function = Function::Find(work.function);
    if (function == nullptr || function->serial() != work.serial)
      return Complain(CUDA_ERROR_INVALID_HANDLE, "a graph launches a kernel whose module has been unloaded");
    const std::string& name = function->info().name;
    if (&function->context() != condition_.owner()) {
      return Complain(CUDA_ERROR_INVALID_VALUE,
                      "the body of a conditional node has kernel {}, of another context than the node's handle", name);
    }
    if (work.arguments.size() > wire::kInlineArgumentBytes) {
      return Complain(CUDA_ERROR_NOT_SUPPORTED,
                      "the body of a conditional node has kernel {} with {} bytes of parameters: at most {} there",
                      name, work.arguments.size(), wire::kInlineArgumentBytes);
    }
    if (stream_ == nullptr) return CUDA_SUCCESS;
    CU_TRY(CheckLaunch(stream_->context(), *function, work.shape));
    const auto prepared = function->Prepared({work.shape.block[0], work.shape.block[1], work.shape.block[2]});
    return prepared ? CUDA_SUCCESS : prepared.error();
  }

  int Copy(const CopyWork& work) const {
    const CopyRequest& request = work.request;
    if (request.shape.empty()) return CUDA_SUCCESS;
    for (const CopySide& side : {request.destination, request.source}) {
      if (!Attachment::Get().OnDevice(side.address)) {
        return Complain(
            CUDA_ERROR_INVALID_VALUE,
            "the body of a conditional node copies host memory at {:#x}: use pinned memory (cuMemHostAlloc)",
            side.address);
      }
      if (stream_ != nullptr) CU_TRY(CheckSide(side, request.shape, SideKind::kAny));
    }
    return CUDA_SUCCESS;
  }

  int Fill(const FillWork& work) const {
    if (stream_ == nullptr) return CUDA_SUCCESS;
    const auto shape = CheckFill(work.request);
    return shape ? CUDA_SUCCESS : shape.error();
  }

  const Condition& condition_;  // of the outermost node
  const Stream* const stream_;
};

void Gather(const Graph& graph, std::vector<const Condition*>& conditions) {
  for (GraphNode* const node : graph.nodes()) {
    const auto* const conditional = node->As<ConditionalWork>();
    if (conditional == nullptr) continue;
    conditions.push_back(conditional->condition.get());
    for (const Graph* const body : conditional->bodies) Gather(*body, conditions);
  }
}

int RunBody(Graph& body, Stream& stream, uint32_t environment) {
  CU_ASSIGN(const auto nodes, body.KeptOrder());
  for (const GraphNode* const node : nodes) CU_TRY(Run(node->work(), stream, environment));
  return CUDA_SUCCESS;
}

wire::ConditionalKind KindOf(const ConditionalWork& work) {
  switch (work.type) {
    case CU_GRAPH_COND_TYPE_WHILE: return wire::ConditionalKind::kWhile;
    case CU_GRAPH_COND_TYPE_SWITCH: return wire::ConditionalKind::kSwitch;
    default: return wire::ConditionalKind::kIf;
  }
}

}  // namespace

int CheckBodies(const Graph& graph, const Stream* stream) {
  uint64_t weight = 0;
  for (GraphNode* const node : graph.nodes()) {
    weight += Weight(node->work());
    const auto* const conditional = node->As<ConditionalWork>();
    if (conditional != nullptr) CU_TRY(BodyCheck(*conditional->condition, stream).Node(*conditional));
  }
  if (weight <= kMostConditionalWeight) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_NOT_SUPPORTED,
                  "a graph with conditional nodes has work for {} records: at most {}, use several graphs", weight,
                  kMostConditionalWeight);
}

std::vector<const Condition*> ConditionsOf(const Graph& graph) {
  std::vector<const Condition*> conditions;
  Gather(graph, conditions);
  return conditions;
}

// If a body fails halfway in spite of all checks, it at least does not run for ever.
int RunConditional(const ConditionalWork& work, Stream& stream, uint32_t environment) {
  stream.Submit(wire::RecordKind::kConditional,
                wire::ConditionalBody{.condition = work.condition->number(), .kind = KindOf(work), .reserved = 0});
  int status = CUDA_SUCCESS;
  for (uint32_t i = 0; i < work.bodies.size() && status == 0; ++i) {
    stream.Submit(wire::RecordKind::kBody, wire::BodyBody{.number = i, .reserved = 0});
    status = RunBody(*work.bodies[i], stream, environment);
  }
  stream.Submit(wire::RecordKind::kConditionalEnd,
                wire::ConditionalEndBody{.no_more = status != 0 ? 1u : 0u, .reserved = 0});
  return status;
}

}  // namespace tutti::client
