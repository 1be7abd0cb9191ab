// Graphs with conditional nodes: what runs, how often, and in which order.
#include <atomic>
#include <thread>
#include <utility>

#include "driver/conditional_fixture.h"

namespace tutti::compat {
namespace {

TEST_F(ConditionalTest, AnIfRunsItsBodyAndElseTheOther) {
  const Handle handle = NewHandle(graph_, 7);
  const CUgraphNode set = AddKernel(graph_, nullptr, "follow", handle, Word(1));
  const Added node = AddConditional(graph_, set, handle, CU_GRAPH_COND_TYPE_IF, 2);
  AddKernel(node.bodies[0], AddKernel(node.bodies[0], nullptr, "record", Word(0), 1u), "set", handle, 0u);
  AddKernel(node.bodies[1], nullptr, "record", Word(0), 2u);
  AddKernel(graph_, node.node, "record", Word(0), 3u);
  CUgraphNodeType type = 0;
  CU_EXPECT(cuGraphNodeGetType(node.node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);

  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  for (const auto& [value, steps] : {std::pair{0u, 23u}, {1u, 13u}, {5u, 13u}, {0u, 23u}}) {
    SetWord(0, 0);
    SetWord(1, value);
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(ValueOf(0), steps) << value;  // the body's change of the value does not choose the other body
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
}

TEST_F(ConditionalTest, AWhileRunsItsBodyUntilAKernelSetsZero) {
  const Handle handle = NewHandle(graph_, 1);
  const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE);
  AddKernel(node.bodies[0], AddKernel(node.bodies[0], nullptr, "add", Word(0), 3u), "count_down", handle, Word(1));
  AddKernel(graph_, node.node, "add", Word(2), 1u);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  for (const uint32_t rounds : {1u, 1000u, 2u}) {
    SetWord(0, 0);
    SetWord(1, rounds);
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(ValueOf(0), 3 * rounds);
    EXPECT_EQ(ValueOf(1), 0u);
  }
  EXPECT_EQ(ValueOf(2), 3u);
  CU_EXPECT(cuGraphExecDestroy(exec));
}

TEST_F(ConditionalTest, AWhileWhoseValueIsZeroRunsNothing) {
  const Added node = AddConditional(graph_, nullptr, NewHandle(graph_, 0), CU_GRAPH_COND_TYPE_WHILE);
  AddKernel(node.bodies[0], nullptr, "add", Word(0), 1u);
  RunGraph(3);
  EXPECT_EQ(ValueOf(0), 0u);
}

TEST_F(ConditionalTest, ASwitchRunsTheBodyWithTheNumber) {
  const Handle handle = NewHandle(graph_);
  const CUgraphNode set = AddKernel(graph_, nullptr, "follow", handle, Word(1));
  const Added node = AddConditional(graph_, set, handle, CU_GRAPH_COND_TYPE_SWITCH, 3);
  for (uint32_t i = 0; i < 3; ++i) AddKernel(node.bodies[i], nullptr, "record", Word(0), i + 1);
  AddKernel(graph_, node.node, "record", Word(0), 9u);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  for (const auto& [value, steps] : {std::pair{0u, 19u}, {1u, 29u}, {2u, 39u}, {3u, 9u}, {~0u, 9u}}) {
    SetWord(0, 0);
    SetWord(1, value);
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(ValueOf(0), steps) << value;
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
}

TEST_F(ConditionalTest, EachLaunchBeginsWithTheDefaultValueIfThatIsWanted) {
  const Handle handle = NewHandle(graph_, 1);
  const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_IF);
  AddKernel(node.bodies[0], AddKernel(node.bodies[0], nullptr, "add", Word(0), 1u), "set", handle, 0u);
  RunGraph(3);
  EXPECT_EQ(ValueOf(0), 3u);
  // Without the flag the value is what kernels have set.
  CUgraph other = nullptr;
  CU_ASSERT(cuGraphCreate(&other, 0));
  const Handle kept = HandleWith(other, 1, 0);
  const CUgraphNode set = AddKernel(other, nullptr, "set", kept, 4u);
  const Added second = AddConditional(other, set, kept, CU_GRAPH_COND_TYPE_SWITCH, 5);
  AddKernel(second.bodies[4], nullptr, "add", Word(1), 1u);
  std::swap(graph_, other);
  RunGraph(2);
  std::swap(graph_, other);
  EXPECT_EQ(ValueOf(1), 2u);
  CU_EXPECT(cuGraphDestroy(other));
}

// Three rounds of an outer loop, each with two of an inner one, and what an inner IF adds in the first.
TEST_F(ConditionalTest, TheyMayBeWithinEachOther) {
  const Handle outer = NewHandle(graph_, 1), inner = NewHandle(graph_, 0), once = NewHandle(graph_, 1);
  const CUgraph body = AddConditional(graph_, nullptr, outer, CU_GRAPH_COND_TYPE_WHILE).bodies[0];
  const CUgraphNodeParams two{
      .type = CU_GRAPH_NODE_TYPE_MEMSET,
      .reserved0 = {},
      .memset = {.dst = Word(2), .pitch = 0, .value = 2, .elementSize = 4, .width = 1, .height = 1},
      .reserved2 = 0};
  CUgraphNodeParams fill = two;
  CUgraphNode reset = nullptr;
  CU_ASSERT(cuGraphAddNode_v2(&reset, body, nullptr, nullptr, 0, &fill));
  const CUgraphNode set = AddKernel(body, reset, "set", inner, 1u);
  const Added loop = AddConditional(body, set, inner, CU_GRAPH_COND_TYPE_WHILE);
  AddKernel(loop.bodies[0], AddKernel(loop.bodies[0], nullptr, "add", Word(0), 1u), "count_down", inner, Word(2));
  const Added first = AddConditional(body, loop.node, once, CU_GRAPH_COND_TYPE_IF);
  AddKernel(first.bodies[0], AddKernel(first.bodies[0], nullptr, "add", Word(0), 100u), "set", once, 0u);
  AddKernel(body, first.node, "count_down", outer, Word(1));
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  for (int launch = 1; launch <= 2; ++launch) {
    SetWord(1, 3);
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(ValueOf(0), 106u * static_cast<unsigned>(launch));
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
}

TEST_F(ConditionalTest, AStreamIsCapturedIntoABody) {
  const Handle handle = NewHandle(graph_, 1);
  const CUgraph body = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE).bodies[0];
  const CUfunction add = Kernel("add"), count_down = Kernel("count_down");
  CUdeviceptr sum = Word(0), left = Word(1), copy = Word(2);
  uint32_t five = 5;
  void *to_add[] = {&sum, &five}, *to_count[] = {const_cast<Handle*>(&handle), &left};
  CU_ASSERT(cuStreamBeginCaptureToGraph(stream_, body, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_EXPECT(cuMemsetD32Async(copy, 0, 1, stream_));
  CU_EXPECT(Launch(add, 1, 1, to_add, stream_));
  CU_EXPECT(cuMemcpyDtoDAsync_v2(copy, sum, 4, stream_));
  CU_EXPECT(Launch(count_down, 1, 1, to_count, stream_));
  CUgraph captured = nullptr;
  CU_ASSERT(cuStreamEndCapture(stream_, &captured));
  EXPECT_EQ(captured, body);
  SetWord(1, 4);
  RunGraph();
  EXPECT_EQ(Read(data_, 3), (std::vector<uint32_t>{20, 0, 20}));
}

TEST_F(ConditionalTest, ABodyMayHaveAChildGraph) {
  CUgraph child = nullptr;
  CU_ASSERT(cuGraphCreate(&child, 0));
  AddKernel(child, AddKernel(child, nullptr, "record", Word(0), 1u), "record", Word(0), 2u);
  const Handle handle = NewHandle(graph_, 1);
  const CUgraph body = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE).bodies[0];
  CUgraphNode node = nullptr;
  CU_ASSERT(cuGraphAddChildGraphNode(&node, body, nullptr, 0, child));
  AddKernel(body, node, "count_down", handle, Word(1));
  SetWord(1, 3);
  RunGraph();
  EXPECT_EQ(ValueOf(0), 121212u);
  CU_EXPECT(cuGraphDestroy(child));
}

// The branches of the graph have lanes of their own, the program's streams wait for all of them.
TEST_F(ConditionalTest, WhatComesBehindALaunchSeesWhatItsLoopsHaveDone) {
  std::vector<CUgraphNode> ends;
  for (int i = 0; i < 4; ++i) {
    const Handle handle = NewHandle(graph_, 1);
    const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE);
    AddKernel(node.bodies[0], AddKernel(node.bodies[0], nullptr, "add", Word(i), 1u), "count_down", handle,
              Word(8 + i));
    ends.push_back(node.node);
  }
  CUstream other = nullptr;
  CUevent event = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_DEFAULT));
  CU_ASSERT(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr seen = Allocate(16);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  for (uint32_t launch = 1; launch <= 20; ++launch) {
    CU_EXPECT(cuMemsetD32Async(Word(8), 50, 4, stream_));
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuEventRecord(event, stream_));
    CU_EXPECT(cuStreamWaitEvent(other, event, 0));
    CU_EXPECT(cuMemcpyDtoDAsync_v2(seen, data_, 16, other));
    EXPECT_EQ(Read(seen, 4), std::vector<uint32_t>(4, 50 * launch));  // in the legacy stream, after `other`
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuMemFree_v2(seen));
  CU_EXPECT(cuEventDestroy_v2(event));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

// Its records must not get between those of a node: they would run with each round, or in no round.
TEST_F(ConditionalTest, AThreadThatUsesTheStreamMeanwhileAddsNothingToABody) {
  const Handle handle = NewHandle(graph_, 1);
  const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE);
  AddKernel(node.bodies[0], AddKernel(node.bodies[0], nullptr, "add", Word(0), 1u), "count_down", handle, Word(1));
  const CUgraphNode set = AddKernel(graph_, node.node, "set", handle, 0u);
  const Added never = AddConditional(graph_, set, NewHandle(graph_, 0), CU_GRAPH_COND_TYPE_IF);
  AddKernel(never.bodies[0], nullptr, "add", Word(0), 1000u);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  constexpr uint32_t kEach = 200;
  std::atomic<bool> failed = false;
  std::thread beside([&, add = Kernel("add")] {
    CUdeviceptr count = Word(2);
    uint32_t one = 1;
    void* arguments[] = {&count, &one};
    for (uint32_t i = 0; i < kEach; ++i) {
      if (cuCtxSetCurrent(context_) != CUDA_SUCCESS || Launch(add, 1, 1, arguments, stream_) != CUDA_SUCCESS)
        failed = true;
    }
  });
  for (uint32_t i = 0; i < kEach; ++i) {
    CU_EXPECT(cuMemsetD32Async(Word(1), 3, 1, stream_));
    CU_EXPECT(cuGraphLaunch(exec, stream_));
  }
  beside.join();
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_FALSE(failed);
  EXPECT_EQ(Read(data_, 3), (std::vector<uint32_t>{3 * kEach, 0, kEach}));
  CU_EXPECT(cuGraphExecDestroy(exec));
}

// More than a stream may have pending: all of it is submitted before any of it is done.
TEST_F(ConditionalTest, ABodyMayBeLongerThanAStreamsBacklog) {
  constexpr uint32_t kNodes = 6000;
  const Handle handle = NewHandle(graph_, 1);
  const CUgraph body = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE).bodies[0];
  CUgraphNode last = nullptr;
  for (uint32_t i = 0; i < kNodes; ++i) last = AddKernel(body, last, "add", Word(0), 1u);
  AddKernel(body, last, "count_down", handle, Word(1));
  SetWord(1, 3);
  RunGraph();
  EXPECT_EQ(ValueOf(0), 3 * kNodes);
}

TEST_F(ConditionalTest, OtherWorkGoesOnBesideALoopWithoutEnd) {
  const Handle handle = NewHandle(graph_, 1);
  const Added node = AddConditional(graph_, nullptr, handle, CU_GRAPH_COND_TYPE_WHILE);
  AddKernel(node.bodies[0], nullptr, "follow", handle, Word(1));
  SetWord(1, 1);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph_));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuGraphExecDestroy(exec));  // the launch goes on
  CUstream other = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr more = Allocate(4000);
  CU_EXPECT(cuMemsetD32Async(more, 1, 1000, other));
  for (int i = 0; i < 10; ++i) CU_EXPECT(AddOne(more, 1000, other));
  CU_EXPECT(cuStreamSynchronize(other));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  CU_EXPECT(cuMemsetD32Async(Word(1), 0, 1, other));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(more, 1000), std::vector<uint32_t>(1000, 11));
  CU_EXPECT(cuMemFree_v2(more));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

}  // namespace
}  // namespace tutti::compat
