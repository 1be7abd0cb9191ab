// Graphs with conditional nodes: what may be done with them, their handles and their bodies.
#include <utility>

#include "driver/conditional_fixture.h"

namespace tutti::compat {
namespace {

TEST_F(ConditionalTest, AnUpdateChangesBodiesAndDefaultValues) {
  const auto make = [&](CUgraph graph, uint32_t added, unsigned value, bool longer) {
    const Handle handle = NewHandle(graph, value);
    const Added node = AddConditional(graph, nullptr, handle, CU_GRAPH_COND_TYPE_IF, 2);
    const CUgraphNode first = AddKernel(node.bodies[0], nullptr, "add", Word(0), added);
    if (longer) AddKernel(node.bodies[0], first, "add", Word(0), added);
    AddKernel(node.bodies[1], AddKernel(node.bodies[1], nullptr, "add", Word(1), added), "set", handle, 1u);
    return first;
  };
  const CUgraphNode first = make(graph_, 1, 1, false);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  CU_EXPECT(cuGraphLaunch(exec, stream_));
  // One node of a body.
  CUdeviceptr to = Word(0);
  uint32_t ten = 10;
  void* arguments[] = {&to, &ten};
  CUgraphNodeParams changed = Described(Kernel("add"), arguments);
  CU_EXPECT(cuGraphExecNodeSetParams(exec, first, &changed));
  CU_EXPECT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(ValueOf(0), 11u);
  // All of it, from another graph with a handle of its own.
  CUgraph other = nullptr, longer = nullptr;
  CU_ASSERT(cuGraphCreate(&other, 0));
  CU_ASSERT(cuGraphCreate(&longer, 0));
  make(other, 100, 0, false);
  make(longer, 1000, 1, true);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, longer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CU_ASSERT(cuGraphExecUpdate_v2(exec, other, &info));
  for (int i = 0; i < 2; ++i) CU_EXPECT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data_, 2), (std::vector<uint32_t>{11, 200}));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(other));
  CU_EXPECT(cuGraphDestroy(longer));
}

TEST_F(ConditionalTest, AGraphWithThemIsNoChildHasNoCloneAndOneExecutable) {
  const Added node = AddConditional(graph_, nullptr, NewHandle(graph_), CU_GRAPH_COND_TYPE_IF);
  CUgraph other = nullptr, clone = nullptr, parent = nullptr;
  CUgraphNode child = nullptr;
  CU_ASSERT(cuGraphCreate(&parent, 0));
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, parent, nullptr, 0, graph_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(node.bodies[0]), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr, second = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  EXPECT_EQ(Instantiate(&second, graph_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Instantiate(&second, node.bodies[0]), CUDA_ERROR_INVALID_VALUE);
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &other), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_ASSERT(Instantiate(&exec, graph_));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(parent));
}

TEST_F(ConditionalTest, HandlesAreForOneNodeOfTheirGraph) {
  Handle handle = 0;
  EXPECT_EQ(cuGraphConditionalHandleCreate(&handle, graph_, context_, 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphConditionalHandleCreate(nullptr, graph_, context_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphConditionalHandleCreate(&handle, nullptr, context_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  handle = NewHandle(graph_);
  CUgraph other = nullptr;
  CU_ASSERT(cuGraphCreate(&other, 0));
  EXPECT_EQ(TryConditional(other, handle, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryConditional(graph_, handle + 1, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryConditional(graph_, data_, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
  for (const auto& [type, size] : {std::pair<int, unsigned>{CU_GRAPH_COND_TYPE_IF, 0u},
                                   {CU_GRAPH_COND_TYPE_IF, 3u},
                                   {CU_GRAPH_COND_TYPE_WHILE, 2u},
                                   {CU_GRAPH_COND_TYPE_SWITCH, 0u},
                                   {3, 1u}})
    EXPECT_EQ(TryConditional(graph_, handle, type, size), CUDA_ERROR_INVALID_VALUE) << type << " " << size;

  CUDA_GRAPH_INSTANTIATE_PARAMS wanted{};
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph_, &wanted), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(wanted.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
  AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_IF);
  EXPECT_EQ(TryConditional(graph_, handle, CU_GRAPH_COND_TYPE_IF, 1), CUDA_ERROR_INVALID_VALUE);
  CU_ASSERT(cuGraphInstantiateWithParams(&exec, graph_, &wanted));
  EXPECT_EQ(wanted.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(other));
}

TEST_F(ConditionalTest, BodiesHoldWhatMayRunWithoutTheProgram) {
  const CUgraph body = AddConditional(graph_, nullptr, NewHandle(graph_), CU_GRAPH_COND_TYPE_IF).bodies[0];
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  memory.bytesize = 64;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, body, nullptr, 0, &memory), CUDA_ERROR_INVALID_VALUE);
  const auto refused = [&] {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(Instantiate(&exec, graph_), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cuGraphDestroyNode(node));
  };
  const CUDA_HOST_NODE_PARAMS host{.fn = [](void*) {}, .userData = nullptr};
  CU_ASSERT(cuGraphAddHostNode(&node, body, nullptr, 0, &host));
  refused();
  CUevent event = nullptr;
  CU_ASSERT(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CU_ASSERT(cuGraphAddEventRecordNode(&node, body, nullptr, 0, event));
  refused();
  CU_EXPECT(cuEventDestroy_v2(event));
  static uint32_t pageable = 0;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = &pageable;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = data_;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  CU_ASSERT(cuGraphAddMemcpyNode(&node, body, nullptr, 0, &copy, context_));
  refused();
  CUgraphNode first = AddKernel(body, nullptr, "add", Word(0), 1u), second = AddKernel(body, first, "add", Word(0), 1u);
  CU_ASSERT(cuGraphAddDependencies(body, &second, &first, 1));
  node = second;
  refused();
  RunGraph();
}

TEST_F(ConditionalTest, ANodesEndEndsItsBodies) {
  const Handle handle = NewHandle(graph_, 1);
  const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_IF, 2);
  const CUgraphNode inside = AddKernel(node.bodies[0], nullptr, "add", Word(0), 1u);
  CU_EXPECT(cuGraphDestroyNode(node.node));
  CUgraphNodeType type = 0;
  EXPECT_EQ(cuGraphNodeGetType(inside, &type), CUDA_ERROR_INVALID_VALUE);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(node.bodies[1], nullptr, &count), CUDA_ERROR_INVALID_VALUE);
}

// More than a process may have at once.
TEST_F(ConditionalTest, HandlesOfGraphsThatHaveGoneDoNotCount) {
  for (int i = 0; i < 40000; ++i) {
    CUgraph graph = nullptr;
    CU_ASSERT(cuGraphCreate(&graph, 0));
    Handle handle = 0;
    CU_ASSERT(cuGraphConditionalHandleCreate(&handle, graph, context_, 0, 0)) << i;
    CU_ASSERT(cuGraphDestroy(graph));
  }
}

}  // namespace
}  // namespace tutti::compat
