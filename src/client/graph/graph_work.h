// The work of graph nodes: every operation of a stream, stored for repeated submission.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "client/base/answer.h"
#include "client/copy/copy.h"
#include "client/copy/fill.h"
#include "client/memory/graph_memory.h"
#include "client/module/launch.h"
#include "cuda/types.h"

namespace tutti::client {

class Condition;
class Graph;

// The arguments are copied, in the kernel's layout; their sources need not outlive the call.
struct KernelWork {
  cuda::CUkernel kernel = nullptr;  // set if a library's kernel was launched: the runtime looks it up by this handle
  Function* function = nullptr;
  uint64_t serial = 0;  // of the function's module: detects that it was unloaded
  LaunchShape shape{};
  std::vector<uint8_t> arguments;
  uint64_t device_node =
      0;  // what kernels change it by (CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE); 0: they do not

  // Where each argument lies in `arguments`.
  std::vector<void*> Pointers() const;
};

// What names a node in kernels that change it: never used again.
uint64_t NewDeviceNode();

struct CopyWork {
  cuda::CUDA_MEMCPY3D description{};
  CopyRequest request;
};

struct FillWork {
  FillRequest request;
};

struct HostWork {
  cuda::CUhostFn function = nullptr;
  void* user = nullptr;
};

struct ChildWork {
  Graph* graph = nullptr;  // the node's own
};

struct EmptyWork {};

struct WaitWork {
  cuda::CUevent event = nullptr;
};

struct RecordWork {
  cuda::CUevent event = nullptr;
};

// The memory is there as long as the node; a launch only takes its turn with it (client/graph/graph_exec.h).
struct AllocateWork {
  GraphAllocation::Handle allocation;
  cuda::CUmemPoolProps properties{};  // as they were given
  std::vector<cuda::CUmemAccessDesc> access;
};

struct FreeWork {
  GraphAllocation::Handle allocation;
};

// Operations on words of memory, checked when they were described.
struct MemoryWork {
  cuda::CUcontext context = nullptr;  // as it was given
  std::vector<cuda::CUstreamBatchMemOpParams> operations;
};

struct ConditionalWork {
  std::shared_ptr<Condition> condition;
  cuda::CUgraphConditionalNodeType type = 0;
  std::vector<Graph*> bodies;  // the node's own
};

// A type of nodes that no graph of ours has.
template <int kType>
struct NoWork {};

// In the order of CUgraphNodeType, so that index() is the type.
using NodeWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork,
                              NoWork<8>, NoWork<9>, AllocateWork, FreeWork, MemoryWork, ConditionalWork>;

Answer<KernelWork> MakeKernelWork(cuda::CUfunction handle, Context& context, const LaunchShape& shape,
                                  void* const* parameters, void* const* extra);
Answer<CopyWork> MakeCopyWork(const cuda::CUDA_MEMCPY3D& description);
CopyWork MakeCopyWork(const CopyRequest& request);
Answer<FillWork> MakeFillWork(const cuda::CUDA_MEMSET_NODE_PARAMS& description);
Answer<MemoryWork> MakeMemoryWork(const cuda::CUDA_BATCH_MEM_OP_NODE_PARAMS& description);

// Calls `change` with each graph that a node with this work owns.
template <typename Work, typename Change>
void ForEachGraph(Work& work, Change change) {
  if (auto* const child = std::get_if<ChildWork>(&work)) change(child->graph);
  if (auto* const conditional = std::get_if<ConditionalWork>(&work)) {
    for (auto& body : conditional->bodies) change(body);
  }
}

// Submits the work to the stream; a child graph's nodes one after the other. `environment`: of the launch of the graph,
// if its kernels may launch graphs (wire::LaunchBody). Errors are those of the corresponding call.
int Run(const NodeWork& work, Stream& stream, uint32_t environment);
// Whether a node of an executable graph may have this other work, of the same type, instead.
bool MayBecome(const NodeWork& work, const NodeWork& other);
// The weight of the records that it submits (wire/backlog.h).
uint32_t Weight(const NodeWork& work);

}  // namespace tutti::client
