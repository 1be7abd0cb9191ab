#include <atomic>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr uint32_t kCount = 1024;

class GraphTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(kCount * 4);
    CU_ASSERT(cuMemsetD32_v2(data_, 0, kCount));
    module();  // no module is loaded beside a capture
  }
  void TearDown() override {
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    DriverTest::TearDown();
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    CU_EXPECT(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  void LaunchAndWait(CUgraphExec exec) {
    CU_EXPECT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
  }
  // A graph of one kernel that adds one, and that node.
  CUgraph AddOneGraph(CUgraphNode* node) {
    CUgraph graph = nullptr;
    CU_EXPECT(cuGraphCreate(&graph, 0));
    uint32_t count = kCount;
    void* parameters[] = {&data_, &count};
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = Function("add_one");
    p.gridDimX = kCount / 128;
    p.blockDimX = 128;
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    CU_EXPECT(cuGraphAddKernelNode_v2(node, graph, nullptr, 0, &p));
    return graph;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr data_ = 0;
};

TEST_F(GraphTest, WhatIsCapturedRunsWhenTheGraphIsLaunchedAndNotBefore) {
  std::vector<uint32_t> host(kCount, 5);
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status = 0;
  CU_EXPECT(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CU_EXPECT(cuMemcpyHtoDAsync_v2(data_, host.data(), kCount * 4, stream_));
  CU_EXPECT(AddOne(data_, kCount, stream_));
  CU_EXPECT(AddOne(data_, kCount, stream_));
  CUgraph graph = nullptr;
  CU_ASSERT(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 0));
  size_t nodes = 0, edges = 0;
  CU_EXPECT(cuGraphGetNodes(graph, nullptr, &nodes));
  CU_EXPECT(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(edges, 2u);

  const CUgraphExec exec = Instantiate(graph);
  CU_EXPECT(cuGraphDestroy(graph));
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 7));
  host.assign(kCount, 10);  // is read again at each launch
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 12));
  CU_EXPECT(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, ACaptureSpreadsWithEventsAndMustBeJoined) {
  CUstream other = nullptr;
  CUevent fork = nullptr, join = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CU_ASSERT(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  for (const bool joined : {true, false}) {
    CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_EXPECT(AddOne(data_, kCount, stream_));
    CU_EXPECT(cuEventRecord(fork, stream_));
    EXPECT_EQ(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
    CU_EXPECT(cuStreamWaitEvent(other, fork, 0));
    CU_EXPECT(AddOne(data_, kCount, other));
    CU_EXPECT(cuEventRecord(join, other));
    if (joined) {
      CU_EXPECT(cuStreamWaitEvent(stream_, join, 0));
    }
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream_, &graph), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CUstreamCaptureStatus status = 1;
    CU_EXPECT(cuStreamIsCapturing(other, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    if (!joined) continue;
    const CUgraphExec exec = Instantiate(graph);
    LaunchAndWait(exec);
    EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 2));
    CU_EXPECT(cuGraphExecDestroy(exec));
    CU_EXPECT(cuGraphDestroy(graph));
  }
  CU_EXPECT(cuEventDestroy_v2(fork));
  CU_EXPECT(cuEventDestroy_v2(join));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

TEST_F(GraphTest, WhatCannotBeCapturedBreaksTheCapture) {
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(AddOne(data_, kCount, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CU_EXPECT(AddOne(data_, kCount, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 1));
}

TEST_F(GraphTest, NodesRunInTheOrderOfTheirDependencies) {
  CUgraphNode add = nullptr, set = nullptr, copy = nullptr, call = nullptr;
  const CUgraph graph = AddOneGraph(&add);
  const CUDA_MEMSET_NODE_PARAMS fill{
      .dst = data_, .pitch = 0, .value = 40, .elementSize = 4, .width = kCount, .height = 1};
  CU_ASSERT(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &fill, context_));
  CU_ASSERT(cuGraphAddDependencies(graph, &set, &add, 1));
  std::vector<uint32_t> host(kCount);
  CUDA_MEMCPY3D to_host{};
  to_host.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  to_host.srcDevice = data_;
  to_host.dstMemoryType = CU_MEMORYTYPE_HOST;
  to_host.dstHost = host.data();
  to_host.WidthInBytes = kCount * 4;
  to_host.Height = to_host.Depth = 1;
  CU_ASSERT(cuGraphAddMemcpyNode(&copy, graph, &add, 1, &to_host, context_));
  const CUDA_HOST_NODE_PARAMS function{[](void* user) {
                                         for (uint32_t& value : *static_cast<std::vector<uint32_t>*>(user)) ++value;
                                       },
                                       &host};
  CU_ASSERT(cuGraphAddHostNode(&call, graph, &copy, 1, &function));
  EXPECT_EQ(cuGraphAddDependencies(graph, &set, &add, 1), CUDA_ERROR_INVALID_VALUE);  // is there already
  size_t roots = 0;
  CU_EXPECT(cuGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(roots, 1u);

  const CUgraphExec exec = Instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    LaunchAndWait(exec);
    EXPECT_EQ(host, std::vector<uint32_t>(kCount, 42));
  }
  CU_ASSERT(cuGraphAddDependencies(graph, &call, &set, 1));
  CUgraphExec circle = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&circle, graph, 0), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphTest, AnExecutableGraphIsUpdated) {
  CUgraphNode node = nullptr;
  const CUgraph graph = AddOneGraph(&node);
  const CUgraphExec exec = Instantiate(graph);
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, 1)[0], 1u);

  CUDA_KERNEL_NODE_PARAMS p{};
  CU_ASSERT(cuGraphKernelNodeGetParams_v2(node, &p));
  EXPECT_EQ(*static_cast<uint32_t*>(p.kernelParams[1]), kCount);
  uint32_t count = kCount, value = 9;
  void* parameters[] = {&data_, &count, &value};
  p.func = Function("fill");
  p.kernelParams = parameters;
  CU_ASSERT(cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 9));

  CUgraphExecUpdateResultInfo info{};
  CU_EXPECT(cuGraphExecUpdate_v2(exec, graph, &info));  // back to what the graph says
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 10));
  CU_EXPECT(cuGraphNodeSetEnabled(exec, node, 0));
  LaunchAndWait(exec);
  EXPECT_EQ(Read(data_, 1)[0], 10u);

  CUgraphNode more = nullptr;
  CU_ASSERT(cuGraphAddEmptyNode(&more, graph, &node, 1));
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphTest, GraphsInGraphsClonesAndLaunchesThatAreCaptured) {
  CUgraphNode node = nullptr, first = nullptr, second = nullptr;
  const CUgraph inner = AddOneGraph(&node);
  CUgraph outer = nullptr, clone = nullptr, captured = nullptr;
  CU_ASSERT(cuGraphCreate(&outer, 0));
  CU_ASSERT(cuGraphAddChildGraphNode(&first, outer, nullptr, 0, inner));
  CU_ASSERT(cuGraphAddChildGraphNode(&second, outer, &first, 1, inner));
  CU_ASSERT(cuGraphClone(&clone, outer));
  CUgraphNode in_clone = nullptr;
  CU_EXPECT(cuGraphNodeFindInClone(&in_clone, second, clone));
  EXPECT_NE(in_clone, second);
  CU_EXPECT(cuGraphDestroy(inner));
  CU_EXPECT(cuGraphDestroy(outer));
  const CUgraphExec twice = Instantiate(clone);
  LaunchAndWait(twice);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 2));

  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CU_EXPECT(cuGraphLaunch(twice, stream_));
  CU_EXPECT(AddOne(data_, kCount, stream_));
  CU_ASSERT(cuStreamEndCapture(stream_, &captured));
  CU_EXPECT(cuGraphExecDestroy(twice));
  const CUgraphExec thrice = Instantiate(captured);
  LaunchAndWait(thrice);
  EXPECT_EQ(Read(data_, kCount), std::vector<uint32_t>(kCount, 5));
  CU_EXPECT(cuGraphExecDestroy(thrice));
  CU_EXPECT(cuGraphDestroy(captured));
  CU_EXPECT(cuGraphDestroy(clone));
}

TEST_F(GraphTest, AGraphKeepsItsUserObjectsAlive) {
  std::atomic<int> ended{0};
  CUuserObject object = nullptr;
  CU_ASSERT(cuUserObjectCreate(&object, &ended, [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, 1, 1));
  CUgraphNode node = nullptr;
  const CUgraph graph = AddOneGraph(&node);
  CU_ASSERT(cuGraphRetainUserObject(graph, object, 1, 1));  // moves
  const CUgraphExec exec = Instantiate(graph);
  CU_EXPECT(cuGraphDestroy(graph));
  EXPECT_EQ(ended.load(), 0);
  CU_EXPECT(cuGraphExecDestroy(exec));
  EXPECT_EQ(ended.load(), 1);
}

}  // namespace
}  // namespace tutti::compat
