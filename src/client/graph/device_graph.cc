#include "client/graph/device_graph.h"

#include <map>
#include <span>

#include "client/base/complaint.h"
#include "client/context/current.h"
#include "client/session/attachment.h"
#include "wire/graph_description.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

Function* FunctionOf(const KernelWork& work) {
  Function* const function = Function::Find(work.function);
  return function != nullptr && function->serial() == work.serial ? function : nullptr;
}

int CheckWork(const KernelWork& work) {
  if (!work.shape.cooperative) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_NOT_SUPPORTED,
                  "a graph that kernels launch has a cooperative launch, which CUDA does not allow under MPS");
}

int CheckWork(const CopyWork& work) {
  for (const CopySide& side : {work.request.destination, work.request.source}) {
    if (work.request.shape.empty() || Attachment::Get().OnDevice(side.address)) continue;
    return Complain(CUDA_ERROR_NOT_SUPPORTED,
                    "a graph that kernels launch copies host memory at {:#x}: use pinned memory (cuMemHostAlloc)",
                    side.address);
  }
  return CUDA_SUCCESS;
}

template <typename Body>
std::span<const uint8_t> BytesOf(const Body& body) {
  return {reinterpret_cast<const uint8_t*>(&body), sizeof body};
}

class Describer {
 public:
  explicit Describer(const std::function<bool(const GraphNode*)>& disabled) : disabled_(disabled) {}

  // `before`: what the graph's first nodes wait for. The last ones are appended to `ends`.
  int Put(Graph& graph, const std::vector<uint32_t>& before, std::vector<uint32_t>* ends) {
    CU_ASSIGN(const auto order, graph.KeptOrder());
    std::map<const GraphNode*, uint32_t> numbers;
    for (GraphNode* const node : order) {
      std::vector<uint32_t> earlier = node->before().empty() ? before : std::vector<uint32_t>();
      for (const GraphNode* const other : node->before()) earlier.push_back(numbers.at(other));
      CU_ASSIGN(const uint32_t number, PutNode(*node, earlier));
      numbers.emplace(node, number);
      if (node->after().empty()) ends->push_back(number);
    }
    return CUDA_SUCCESS;
  }
  std::vector<uint8_t> Take() { return writer_.Take(); }
  const wire::GraphWriter& writer() const { return writer_; }

  Answer<uint32_t> PutKernel(const KernelWork& work, const std::vector<uint32_t>& before, bool enabled) {
    Function* const function = FunctionOf(work);
    if (function == nullptr) {
      return Refuse(
          Complain(CUDA_ERROR_INVALID_HANDLE, "a graph that kernels launch has a kernel whose module was unloaded"));
    }
    CU_TRY_OR_REFUSE(CheckWork(work));
    CU_TRY_OR_REFUSE(CheckLaunch(function->context(), *function, work.shape));
    const auto& block = work.shape.block;
    CU_ASSIGN_OR_REFUSE(const uint32_t kernel, function->Prepared({block[0], block[1], block[2]}));
    return writer_.Add(wire::RecordKind::kLaunch, before, BytesOf(BodyOf(*function, work.shape, kernel)),
                       work.arguments, work.device_node, enabled);
  }

 private:
  Answer<uint32_t> PutNode(GraphNode& node, const std::vector<uint32_t>& before) {
    const auto* const kernel = node.As<KernelWork>();
    if (disabled_(&node) && (kernel == nullptr || kernel->device_node == 0)) return Joint(before);
    if (kernel != nullptr) return PutKernel(*kernel, before, !disabled_(&node));
    if (const auto* const copy = node.As<CopyWork>()) {
      CU_TRY_OR_REFUSE(CheckWork(*copy));
      if (copy->request.shape.empty()) return Joint(before);
      for (const CopySide& side : {copy->request.destination, copy->request.source})
        CU_TRY_OR_REFUSE(CheckSide(side, copy->request.shape, SideKind::kAny));
      return writer_.Add(wire::RecordKind::kCopy, before, BytesOf(BodyOf(copy->request)));
    }
    if (const auto* const fill = node.As<FillWork>()) {
      CU_ASSIGN_OR_REFUSE(const CopyShape shape, CheckFill(fill->request));
      if (shape.empty()) return Joint(before);
      return writer_.Add(wire::RecordKind::kFill, before, BytesOf(BodyOf(fill->request)));
    }
    const auto* const child = node.As<ChildWork>();
    if (child == nullptr) return Refuse(CUDA_ERROR_NOT_SUPPORTED);
    const uint32_t begin = Joint(before);
    std::vector<uint32_t> ends;
    CU_TRY_OR_REFUSE(Put(*child->graph, {begin}, &ends));
    return ends.empty() ? begin : Joint(ends);
  }

  uint32_t Joint(const std::vector<uint32_t>& before) { return writer_.Add(wire::RecordKind::kMarker, before); }

  const std::function<bool(const GraphNode*)>& disabled_;
  wire::GraphWriter writer_;
};

// Whether the graph has work; the first fault is kept.
bool Check(Graph& graph, const Context** context, DeviceGraphFault* fault) {
  bool has_work = false;
  for (GraphNode* const node : graph.nodes()) {
    if (auto* const child = node->As<ChildWork>()) {
      has_work = Check(*child->graph, context, fault) || has_work;
      continue;
    }
    has_work = true;
    const int status = CheckDeviceWork(node->work());
    if (status != 0 && fault->status == 0) *fault = {status, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node};
    const auto* const kernel = node->As<KernelWork>();
    const Function* const function = kernel != nullptr ? FunctionOf(*kernel) : nullptr;
    if (function == nullptr) continue;
    if (*context == nullptr) *context = &function->context();
    if (*context == &function->context() || fault->status != 0) continue;
    *fault = {Complain(CUDA_ERROR_INVALID_VALUE, "a graph that kernels launch has kernels of several contexts"),
              CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, node};
  }
  return has_work;
}

// INVALID_VALUE if there is another one than `*context`, if that is not null.
int FindLauncher(const Graph& graph, const Context** context) {
  for (GraphNode* const node : graph.nodes()) {
    int status = CUDA_SUCCESS;
    ForEachGraph(node->work(), [&](const Graph* inner) {
      if (status == 0) status = FindLauncher(*inner, context);
    });
    CU_TRY(status);
    const auto* const kernel = node->As<KernelWork>();
    const Function* const function = kernel != nullptr ? FunctionOf(*kernel) : nullptr;
    if (function == nullptr || !function->info().may_launch_graphs) continue;
    if (*context != nullptr && *context != &function->context()) {
      return Complain(CUDA_ERROR_INVALID_VALUE,
                      "a graph has kernels that launch graphs (cudaGraphLaunch) in several contexts");
    }
    *context = &function->context();
  }
  return CUDA_SUCCESS;
}

}  // namespace

int CheckDeviceWork(const NodeWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return CheckWork(*kernel);
  if (const auto* const copy = std::get_if<CopyWork>(&work)) return CheckWork(*copy);
  if (std::holds_alternative<FillWork>(work) || std::holds_alternative<ChildWork>(work)) return CUDA_SUCCESS;
  return Complain(CUDA_ERROR_NOT_SUPPORTED,
                  "a graph that kernels launch has a node of type {}: only kernels, copies, fills and child graphs may "
                  "be there",
                  work.index());
}

DeviceGraphFault CheckDeviceGraph(Graph& graph) {
  DeviceGraphFault fault;
  const Context* context = nullptr;
  if (!Check(graph, &context, &fault) && fault.status == 0) {
    fault = {Complain(CUDA_ERROR_INVALID_VALUE, "a graph that kernels launch has no kernel, copy or fill"),
             CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, nullptr};
  }
  return fault;
}

Context* ContextOf(Graph& graph) {
  for (GraphNode* const node : graph.nodes()) {
    const auto* const kernel = node->As<KernelWork>();
    const Function* const function = kernel != nullptr ? FunctionOf(*kernel) : nullptr;
    if (function != nullptr) return &function->context();
    if (auto* const child = node->As<ChildWork>()) {
      if (Context* const context = ContextOf(*child->graph)) return context;
    }
  }
  return Context::Find(current_context);
}

Answer<std::vector<uint8_t>> Describe(Graph& graph, const std::function<bool(const GraphNode*)>& disabled) {
  Describer describer(disabled);
  std::vector<uint32_t> ends;
  CU_TRY_OR_REFUSE(describer.Put(graph, {}, &ends));
  if (describer.writer().nodes() > wire::kMostGraphNodes || describer.writer().edges() > wire::kMostGraphEdges) {
    return Refuse(
        Complain(CUDA_ERROR_NOT_SUPPORTED, "a graph that kernels launch has {} nodes and {} edges: at most {} and {}",
                 describer.writer().nodes(), describer.writer().edges(), wire::kMostGraphNodes, wire::kMostGraphEdges));
  }
  std::vector<uint8_t> description = describer.Take();
  if (description.size() <= wire::kMostGraphBytes) return description;
  return Refuse(Complain(CUDA_ERROR_NOT_SUPPORTED, "a graph that kernels launch takes {} bytes: at most {}",
                         description.size(), wire::kMostGraphBytes));
}

Answer<std::vector<uint8_t>> DescribeNode(const KernelWork& work, bool enabled) {
  const std::function<bool(const GraphNode*)> none;
  Describer describer(none);
  const auto number = describer.PutKernel(work, {}, enabled);
  if (!number) return Refuse(number.error());
  return describer.Take();
}

int ForEachUpdatable(const Graph& graph, const std::function<int(const GraphNode&, const KernelWork&)>& use) {
  for (GraphNode* const node : graph.nodes()) {
    int status = CUDA_SUCCESS;
    ForEachGraph(node->work(), [&](const Graph* inner) {
      if (status == 0) status = ForEachUpdatable(*inner, use);
    });
    CU_TRY(status);
    const auto* const kernel = node->As<KernelWork>();
    if (kernel != nullptr && kernel->device_node != 0) CU_TRY(use(*node, *kernel));
  }
  return CUDA_SUCCESS;
}

Answer<bool> MayLaunchGraphs(const Graph& graph) {
  const Context* context = nullptr;
  CU_TRY_OR_REFUSE(FindLauncher(graph, &context));
  return context != nullptr;
}

}  // namespace tutti::client
