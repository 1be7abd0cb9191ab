// What the nodes of a graph do: everything a stream can be asked for, kept to be asked for again.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "client/base/answer.h"
#include "client/copy/copy.h"
#include "client/copy/fill.h"
#include "client/module/launch.h"
#include "cuda/types.h"

namespace tutti::client {

class Graph;

// The arguments are packed as the kernel wants them: what they were read from need not live on.
struct KernelWork {
  cuda::CUkernel kernel = nullptr;  // where a kernel of a library was meant: by it the runtime finds what it launched
  Function* function = nullptr;
  uint64_t serial = 0;  // of the function's module: tells whether it is still there
  LaunchShape shape{};
  std::vector<uint8_t> arguments;

  // Where each argument lies in `arguments`.
  std::vector<void*> Pointers() const;
};

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

// In the order of CUgraphNodeType, so that index() is the type.
using NodeWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork>;

Answer<KernelWork> MakeKernelWork(cuda::CUfunction handle, Context& context, const LaunchShape& shape,
                                  void* const* parameters, void* const* extra);
Answer<CopyWork> MakeCopyWork(const cuda::CUDA_MEMCPY3D& description);
CopyWork MakeCopyWork(const CopyRequest& request);
Answer<FillWork> MakeFillWork(const cuda::CUDA_MEMSET_NODE_PARAMS& description);

// Submits the work to the stream; a child graph's nodes one after the other. Errors are those of the call it stands
// for.
int Run(const NodeWork& work, Stream& stream);
// Of the records that this submits (wire/backlog.h).
uint32_t Weight(const NodeWork& work);

}  // namespace tutti::client
