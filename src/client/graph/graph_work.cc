#include "client/graph/graph_work.h"

#include <atomic>

#include "client/array/copy_description.h"
#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/copy/host_calls.h"
#include "client/copy/memory_operations.h"
#include "client/copy/relay.h"
#include "client/graph/conditional.h"
#include "client/graph/graph.h"
#include "client/module/library.h"
#include "client/session/attachment.h"

namespace tutti::client {
namespace {

using namespace tutti::cuda;

int RunWork(const KernelWork& work, Stream& stream, uint32_t environment) {
  const Function* const found = Function::Find(work.function);
  if (found == nullptr || found->serial() != work.serial)
    return Complain(CUDA_ERROR_INVALID_HANDLE, "a graph launches a kernel whose module has been unloaded");
  if (work.device_node != 0) {  // the executable graph has uploaded it
    stream.Submit(wire::RecordKind::kGraphLaunch,
                  wire::GraphLaunchBody{.graph = work.device_node, .environment = environment, .reserved = 0});
    return CUDA_SUCCESS;
  }
  size_t bytes = work.arguments.size();
  void* extra[] = {reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER), const_cast<uint8_t*>(work.arguments.data()),
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE), &bytes,
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_END)};
  LaunchShape shape = work.shape;
  shape.environment = environment;
  return Launch(stream, *work.function, shape, nullptr, extra);
}

// Host memory is read when the stream gets there, since an earlier node may still write it.
int RunWork(const CopyWork& work, Stream& stream, uint32_t) {
  const CopyRequest& request = work.request;
  if (request.shape.empty()) return CUDA_SUCCESS;
  if (Attachment::Get().OnDevice(request.source.address) && Attachment::Get().OnDevice(request.destination.address))
    return Copy(stream, request, CopyMode::kAsynchronous);
  return CopyInStream(stream, request);
}

int RunWork(const FillWork& work, Stream& stream, uint32_t) {
  return Fill(stream, work.request, CopyMode::kAsynchronous);
}

int RunWork(const HostWork& work, Stream& stream, uint32_t) {
  return SubmitHostFunction(stream, work.function, work.user);
}

int RunWork(const ChildWork& work, Stream& stream, uint32_t environment) {
  CU_ASSIGN(const auto nodes, work.graph->KeptOrder());
  for (const GraphNode* node : nodes) CU_TRY(Run(node->work(), stream, environment));
  return CUDA_SUCCESS;
}

int RunWork(const EmptyWork&, Stream&, uint32_t) { return CUDA_SUCCESS; }

int RunWork(const WaitWork& work, Stream& stream, uint32_t) {
  const Event* const event = Event::Find(work.event);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return event->MakeWait(stream);
}

int RunWork(const RecordWork& work, Stream& stream, uint32_t) {
  Event* const event = Event::Find(work.event);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return event->Record(stream);
}

int RunWork(const AllocateWork&, Stream&, uint32_t) { return CUDA_SUCCESS; }

int RunWork(const FreeWork&, Stream&, uint32_t) { return CUDA_SUCCESS; }

template <int kType>
int RunWork(const NoWork<kType>&, Stream&, uint32_t) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

int RunWork(const ConditionalWork& work, Stream& stream, uint32_t environment) {
  return RunConditional(work, stream, environment);
}

int RunWork(const MemoryWork& work, Stream& stream, uint32_t) {
  return SubmitMemoryOperations(stream, work.operations);
}

}  // namespace

uint64_t NewDeviceNode() {
  static std::atomic<uint64_t> last{uint64_t{0x6e} << 56};  // like no address
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::vector<void*> KernelWork::Pointers() const {
  std::vector<void*> pointers;
  for (const auto& parameter : function->info().params)
    pointers.push_back(const_cast<uint8_t*>(arguments.data()) + parameter.offset);
  return pointers;
}

Answer<KernelWork> MakeKernelWork(CUfunction handle, Context& context, const LaunchShape& shape,
                                  void* const* parameters, void* const* extra) {
  // A function determines its context.
  Function* const given = Function::Find(handle);
  CU_ASSIGN_OR_REFUSE(Function* const function, given != nullptr ? given : ResolveFunction(handle, context));
  const Kernel* const kernel = Kernel::Find(handle);
  KernelWork work{.kernel = kernel != nullptr ? reinterpret_cast<CUkernel>(handle) : nullptr,
                  .function = function,
                  .serial = function->serial(),
                  .shape = shape};
  work.arguments.resize(function->info().param_bytes);
  const int checked = CheckLaunch(function->context(), *function, shape);
  if (checked != 0)
    return Refuse(checked == kInvalidConfiguration && given != nullptr ? CUDA_ERROR_INVALID_VALUE : checked);
  CU_TRY_OR_REFUSE(PackArguments(*function, parameters, extra, work.arguments.data()));
  return work;
}

Answer<CopyWork> MakeCopyWork(const CUDA_MEMCPY3D& description) {
  CU_ASSIGN_OR_REFUSE(const DescribedCopy copy, Describe(description));
  CU_TRY_OR_REFUSE(CheckSide(copy.request.destination, copy.request.shape, copy.destination));
  CU_TRY_OR_REFUSE(CheckSide(copy.request.source, copy.request.shape, copy.source));
  return CopyWork{description, copy.request};
}

CopyWork MakeCopyWork(const CopyRequest& request) { return {Describing(request), request}; }

Answer<FillWork> MakeFillWork(const CUDA_MEMSET_NODE_PARAMS& d) {
  const bool element = d.elementSize == 1 || d.elementSize == 2 || d.elementSize == 4;
  if (!element || d.dst % d.elementSize != 0) return Refuse(CUDA_ERROR_INVALID_VALUE);
  return FillWork{{.address = d.dst,
                   .width = d.width,
                   .height = d.height,
                   .pitch = d.pitch,
                   .value = d.value,
                   .element_bytes = d.elementSize}};
}

Answer<MemoryWork> MakeMemoryWork(const CUDA_BATCH_MEM_OP_NODE_PARAMS& d) {
  if (d.count > kMostMemoryOperations || (d.count != 0 && d.paramArray == nullptr) || d.flags != 0)
    return Refuse(CUDA_ERROR_INVALID_VALUE);
  if (d.ctx != nullptr && Context::Find(d.ctx) == nullptr) return Refuse(CUDA_ERROR_INVALID_CONTEXT);
  const std::span<const CUstreamBatchMemOpParams> operations(d.paramArray, d.count);
  CU_TRY_OR_REFUSE(CheckMemoryOperations(operations, MemoryOperationApi::kSecond));
  return MemoryWork{d.ctx, {operations.begin(), operations.end()}};
}

int Run(const NodeWork& work, Stream& stream, uint32_t environment) {
  return std::visit([&](const auto& kind) { return RunWork(kind, stream, environment); }, work);
}

bool MayBecome(const NodeWork& work, const NodeWork& other) {
  if (const auto* const conditional = std::get_if<ConditionalWork>(&work)) {
    const auto& theirs = std::get<ConditionalWork>(other);
    return conditional->type == theirs.type && conditional->bodies.size() == theirs.bodies.size();
  }
  const auto* const memory = std::get_if<MemoryWork>(&work);
  if (memory == nullptr) return true;
  const auto& theirs = std::get<MemoryWork>(other);
  return memory->context == theirs.context && SameKinds(memory->operations, theirs.operations);
}

uint32_t Weight(const NodeWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return wire::BacklogWeight(kernel->arguments.size());
  if (const auto* const memory = std::get_if<MemoryWork>(&work))
    return static_cast<uint32_t>(memory->operations.size());
  const bool has_graphs = std::holds_alternative<ChildWork>(work) || std::holds_alternative<ConditionalWork>(work);
  uint32_t all = std::holds_alternative<ChildWork>(work) ? 0 : 2;  // an event's record may need a marker before it
  if (!has_graphs) return all;
  ForEachGraph(work, [&](Graph* graph) {
    all += 1;
    for (const GraphNode* const node : graph->nodes()) all += Weight(node->work());
  });
  return all;
}

}  // namespace tutti::client
