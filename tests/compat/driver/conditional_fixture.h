// For tests of graphs with conditional nodes: a graph, a stream, words of memory, kernels that set conditions, and what
// adds nodes.
#pragma once

#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {

// Kernels of one thread: set(handle, value); add(data, value); record(data, value) writes *data = 10 * *data + value;
// count_down(handle, data) takes one from *data and sets whether anything is left; follow(handle, data) sets *data.
inline constexpr char kConditionalKernels[] = R"(
.version 8.3
.target sm_70
.address_size 64

.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);

.visible .entry set(.param .u64 handle, .param .u32 value) {
  .reg .b32 %r; .reg .b64 %h;
  ld.param.u64 %h, [handle];
  ld.param.u32 %r, [value];
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %h; st.param.b32 [b], %r;
    call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
.visible .entry add(.param .u64 data, .param .u32 value) {
  .reg .b32 %r<2>; .reg .b64 %d;
  ld.param.u64 %d, [data];
  ld.param.u32 %r0, [value];
  ld.global.u32 %r1, [%d];
  add.u32 %r1, %r1, %r0;
  st.global.u32 [%d], %r1;
  ret;
}
.visible .entry record(.param .u64 data, .param .u32 value) {
  .reg .b32 %r<2>; .reg .b64 %d;
  ld.param.u64 %d, [data];
  ld.param.u32 %r0, [value];
  ld.global.u32 %r1, [%d];
  mad.lo.u32 %r1, %r1, 10, %r0;
  st.global.u32 [%d], %r1;
  ret;
}
.visible .entry count_down(.param .u64 handle, .param .u64 data) {
  .reg .b32 %r<2>; .reg .b64 %h, %d; .reg .pred %p;
  ld.param.u64 %h, [handle];
  ld.param.u64 %d, [data];
  ld.global.u32 %r0, [%d];
  sub.u32 %r0, %r0, 1;
  st.global.u32 [%d], %r0;
  setp.ne.u32 %p, %r0, 0;
  selp.u32 %r1, 1, 0, %p;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %h; st.param.b32 [b], %r1;
    call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
.visible .entry follow(.param .u64 handle, .param .u64 data) {
  .reg .b32 %r; .reg .b64 %h, %d;
  ld.param.u64 %h, [handle];
  ld.param.u64 %d, [data];
  ld.volatile.global.u32 %r, [%d];
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %h; st.param.b32 [b], %r;
    call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
)";

class ConditionalTest : public DriverTest {
 protected:
  using Handle = CUgraphConditionalHandle;

  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&kernels_, kConditionalKernels));
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuGraphCreate(&graph_, 0));
    data_ = Allocate(64);
    CU_ASSERT(cuMemsetD32_v2(data_, 0, 16));
  }
  void TearDown() override {
    CU_EXPECT(cuStreamSynchronize(stream_));
    CU_EXPECT(cuGraphDestroy(graph_));
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    CU_EXPECT(cuModuleUnload(kernels_));
    DriverTest::TearDown();
  }
  CUdeviceptr Word(int i) const { return data_ + 4 * static_cast<unsigned>(i); }
  uint32_t ValueOf(int word) { return Read(Word(word), 1)[0]; }
  void SetWord(int word, uint32_t value) { CU_EXPECT(cuMemsetD32_v2(Word(word), value, 1)); }

  // A handle that each launch gives this value.
  Handle NewHandle(CUgraph graph, unsigned value = 0) const { return HandleWith(graph, value, 1); }
  Handle HandleWith(CUgraph graph, unsigned value, unsigned flags) const {
    Handle handle = 0;
    CU_EXPECT(cuGraphConditionalHandleCreate(&handle, graph, context_, value, flags));
    return handle;
  }
  CUfunction Kernel(const char* name) const {
    CUfunction function = nullptr;
    CU_EXPECT(cuModuleGetFunction(&function, kernels_, name));
    return function;
  }
  static CUgraphNodeParams Described(CUfunction function, void** arguments) {
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_KERNEL;
    p.kernel = {{.func = function,
                 .gridDimX = 1,
                 .gridDimY = 1,
                 .gridDimZ = 1,
                 .blockDimX = 1,
                 .blockDimY = 1,
                 .blockDimZ = 1,
                 .sharedMemBytes = 0,
                 .kernelParams = arguments,
                 .extra = nullptr},
                nullptr,
                nullptr};
    return p;
  }
  template <typename First, typename Second>
  CUgraphNode AddKernel(CUgraph graph, CUgraphNode before, const char* name, First first, Second second) const {
    void* arguments[] = {&first, &second};
    CUgraphNodeParams p = Described(Kernel(name), arguments);
    CUgraphNode node = nullptr;
    CU_EXPECT(cuGraphAddNode_v2(&node, graph, &before, nullptr, before != nullptr ? 1 : 0, &p));
    return node;
  }
  static CUgraphNodeParams Conditional(Handle handle, int type, unsigned size) {
    CUgraphNodeParams p{};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional = {.handle = handle, .type = type, .size = size, .phGraph_out = nullptr, .ctx = nullptr};
    return p;
  }
  struct Added {
    CUgraphNode node = nullptr;
    std::vector<CUgraph> bodies;
  };
  static Added AddConditional(CUgraph graph, CUgraphNode before, Handle handle, int type, unsigned size = 1) {
    CUgraphNodeParams p = Conditional(handle, type, size);
    Added added;
    CU_EXPECT(cuGraphAddNode_v2(&added.node, graph, &before, nullptr, before != nullptr ? 1 : 0, &p));
    if (added.node != nullptr) added.bodies.assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
    return added;
  }
  // The result for a node that is refused.
  static CUresult TryConditional(CUgraph graph, Handle handle, int type, unsigned size) {
    CUgraphNodeParams p = Conditional(handle, type, size);
    CUgraphNode node = nullptr;
    return cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &p);
  }
  static CUresult Instantiate(CUgraphExec* exec, CUgraph graph) { return cuGraphInstantiateWithFlags(exec, graph, 0); }
  // Instantiates, launches some times and waits.
  void RunGraph(int launches = 1) {
    CUgraphExec exec = nullptr;
    CU_ASSERT(Instantiate(&exec, graph_));
    for (int i = 0; i < launches; ++i) CU_EXPECT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    CU_EXPECT(cuGraphExecDestroy(exec));
  }

  CUmodule kernels_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUdeviceptr data_ = 0;
};

}  // namespace tutti::compat
