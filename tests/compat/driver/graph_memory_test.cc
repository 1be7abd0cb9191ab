// Graphs that allocate and free memory.
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr uint32_t kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(uint32_t);

class GraphMemoryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    result_ = Allocate(kBytes);
    CU_ASSERT(cuMemsetD32_v2(result_, 0, kCount));
    module();  // no module is loaded beside a capture
  }
  void TearDown() override {
    CU_EXPECT(cuMemFree_v2(result_));
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    DriverTest::TearDown();
  }
  static CUgraph NewGraph() {
    CUgraph graph = nullptr;
    CU_EXPECT(cuGraphCreate(&graph, 0));
    return graph;
  }
  static CUDA_MEM_ALLOC_NODE_PARAMS Wanted(size_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS p{};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    p.bytesize = bytes;
    return p;
  }
  // Adds a node that allocates, after `before` if that is not null.
  static CUdeviceptr AddAllocation(CUgraph graph, CUgraphNode* node, CUgraphNode before = nullptr,
                                   size_t bytes = kBytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS p = Wanted(bytes);
    CU_EXPECT(cuGraphAddMemAllocNode(node, graph, &before, before != nullptr ? 1 : 0, &p));
    return p.dptr;
  }
  static CUgraphNode AddFill(CUgraph graph, CUgraphNode before, CUdeviceptr data, uint32_t value) {
    const CUDA_MEMSET_NODE_PARAMS fill{
        .dst = data, .pitch = 0, .value = value, .elementSize = 4, .width = kCount, .height = 1};
    CUgraphNode node = nullptr;
    CUcontext current = nullptr;
    CU_EXPECT(cuCtxGetCurrent(&current));
    CU_EXPECT(cuGraphAddMemsetNode(&node, graph, &before, 1, &fill, current));
    return node;
  }
  // By any thread.
  static CUresult AddOneWith(CUfunction add_one, CUdeviceptr data, CUstream stream) {
    uint32_t count = kCount;
    void* arguments[] = {&data, &count};
    return cuLaunchKernel(add_one, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr);
  }
  static CUresult Instantiate(CUgraphExec* exec, CUgraph graph, unsigned flags = 0) {
    return cuGraphInstantiateWithFlags(exec, graph, flags);
  }
  static uint64_t Attribute(CUgraphMem_attribute attribute) {
    uint64_t value = ~uint64_t{0};
    CU_EXPECT(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr result_ = 0;
};

TEST_F(GraphMemoryTest, ACapturedAllocationIsUsedAndFreedAtEachLaunch) {
  CUdeviceptr data = 0;
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_ASSERT(cuMemAllocAsync(&data, kBytes, stream_));
  CU_EXPECT(cuMemsetD32Async(data, 5, kCount, stream_));
  CU_EXPECT(AddOne(data, kCount, stream_));
  CU_EXPECT(cuMemcpyDtoDAsync_v2(result_, data, kBytes, stream_));
  CU_EXPECT(cuMemFreeAsync(data, stream_));
  CUgraph graph = nullptr;
  CU_ASSERT(cuStreamEndCapture(stream_, &graph));
  CUgraphNode nodes[5];
  size_t count = 5;
  CU_ASSERT(cuGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 5u);
  CUgraphNodeType type = -1;
  CU_EXPECT(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  CU_EXPECT(cuGraphNodeGetType(nodes[4], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  CUDA_MEM_ALLOC_NODE_PARAMS allocated{};
  CU_EXPECT(cuGraphMemAllocNodeGetParams(nodes[0], &allocated));
  EXPECT_EQ(allocated.dptr, data);
  EXPECT_EQ(allocated.bytesize, kBytes);
  EXPECT_EQ(allocated.poolProps.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  CUdeviceptr freed = 0;
  CU_EXPECT(cuGraphMemFreeNodeGetParams(nodes[4], &freed));
  EXPECT_EQ(freed, data);

  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  for (int i = 0; i < 3; ++i) {
    CU_ASSERT(cuMemsetD32_v2(result_, 0, kCount));
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Read(result_, kCount), std::vector<uint32_t>(kCount, 6));
  }
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);  // its graph frees it
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, WhatAGraphLeavesAllocatedIsTheProgramsUntilItFreesIt) {
  const CUgraph graph = NewGraph();
  CUgraphNode allocate = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &allocate);
  AddFill(graph, allocate, data, 7);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  EXPECT_EQ(cuMemFreeAsync(data, stream_), CUDA_ERROR_INVALID_VALUE);  // nothing has allocated it yet
  for (const bool synchronously : {false, true}) {
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_EXPECT(AddOne(data, kCount, stream_));
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 8));
    EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);  // it has not been freed
    EXPECT_EQ(Read(data, 1)[0], 8u);
    CU_EXPECT(synchronously ? cuMemFree_v2(data) : cuMemFreeAsync(data, stream_));
    EXPECT_EQ(cuMemFreeAsync(data, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, ItOutlivesItsGraphUntilItIsFreed) {
  const CUgraph graph = NewGraph();
  CUgraphNode allocate = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &allocate);
  AddFill(graph, allocate, data, 3);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 3));
  CU_EXPECT(cuMemFreeAsync(data, stream_));
  uint32_t value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, data, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphMemoryTest, AutoFreeFreesBeforeTheNextLaunch) {
  const CUgraph graph = NewGraph();
  CUgraphNode allocate = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &allocate);
  AddFill(graph, allocate, data, 4);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  for (int i = 0; i < 3; ++i) CU_EXPECT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 4));
  CU_EXPECT(cuMemFreeAsync(data, stream_));
  CU_EXPECT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuMemFree_v2(data));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, AnotherGraphMayFreeIt) {
  const CUgraph makes = NewGraph(), frees = NewGraph();
  CUgraphNode allocate = nullptr, free = nullptr, again = nullptr;
  const CUdeviceptr data = AddAllocation(makes, &allocate);
  CU_ASSERT(cuGraphAddMemFreeNode(&free, frees, nullptr, 0, data));
  EXPECT_EQ(cuGraphAddMemFreeNode(&again, frees, nullptr, 0, data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&again, makes, &allocate, 1, data), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec making = nullptr, freeing = nullptr;
  CU_ASSERT(Instantiate(&making, makes));
  CU_ASSERT(Instantiate(&freeing, frees));
  EXPECT_EQ(cuGraphLaunch(freeing, stream_), CUDA_ERROR_INVALID_VALUE);  // nothing has allocated it
  for (int i = 0; i < 2; ++i) {
    CU_EXPECT(cuGraphLaunch(making, stream_));
    CU_EXPECT(cuGraphLaunch(freeing, stream_));
    EXPECT_EQ(cuGraphLaunch(freeing, stream_), CUDA_ERROR_INVALID_VALUE);
  }
  CU_EXPECT(cuStreamSynchronize(stream_));
  CU_EXPECT(cuGraphExecDestroy(making));
  CU_EXPECT(cuGraphExecDestroy(freeing));
  CU_EXPECT(cuGraphDestroy(makes));
  CU_EXPECT(cuGraphDestroy(frees));
}

TEST_F(GraphMemoryTest, WhatIsFreedTwiceOrIsNoGraphsIsRefused) {
  const CUgraph graph = NewGraph(), other = NewGraph();
  CUgraphNode allocate = nullptr, free = nullptr, node = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &allocate);
  CU_ASSERT(cuGraphAddMemFreeNode(&free, graph, &allocate, 1, data));
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, &free, 1, data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, other, nullptr, 0, data), CUDA_ERROR_INVALID_VALUE);
  for (const CUdeviceptr foreign : {CUdeviceptr{0}, CUdeviceptr{0x1234}, data + 4, result_})
    EXPECT_EQ(cuGraphAddMemFreeNode(&node, other, nullptr, 0, foreign), CUDA_ERROR_INVALID_VALUE) << foreign;
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemFreeAsync(result_, stream_), CUDA_ERROR_INVALID_VALUE);
  CUgraph captured = nullptr;
  CU_EXPECT(cuStreamEndCapture(stream_, &captured));
  CU_EXPECT(cuGraphDestroy(captured));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuGraphDestroy(other));
}

TEST_F(GraphMemoryTest, AllocationsThatCannotBeAreRefused) {
  const CUgraph graph = NewGraph();
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS p = Wanted(0);
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE);
  p = Wanted(uint64_t{1} << 60);
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_OUT_OF_MEMORY);
  p = Wanted(kBytes);
  p.poolProps.location.id = 99;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE);
  p = Wanted(kBytes);
  p.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_NOT_SUPPORTED);
  p = Wanted(kBytes);
  p.accessDescCount = 1;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  size_t nodes = 9;
  CU_EXPECT(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 0u);
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, .flags = 3};
  p = Wanted(kBytes);
  p.accessDescs = &access;
  p.accessDescCount = 1;
  CU_ASSERT(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &p));
  CUDA_MEM_ALLOC_NODE_PARAMS got{};
  CU_ASSERT(cuGraphMemAllocNodeGetParams(node, &got));
  ASSERT_EQ(got.accessDescCount, 1u);
  EXPECT_NE(got.accessDescs, &access);
  EXPECT_EQ(got.accessDescs[0].flags, 3);
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, SuchAGraphHasOneInstanceAndIsNeitherClonedNorNestedNorShortened) {
  const CUgraph graph = NewGraph(), parent = NewGraph();
  CUgraphNode allocate = nullptr, child = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &allocate);
  CUgraphNode fill = AddFill(graph, allocate, data, 1);
  CUgraphExec first = nullptr, second = nullptr;
  CU_ASSERT(Instantiate(&first, graph));
  EXPECT_EQ(Instantiate(&second, graph), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuGraphExecDestroy(first));
  CU_ASSERT(Instantiate(&first, graph));
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, parent, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(fill), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &allocate, &fill, 1), CUDA_ERROR_INVALID_VALUE);
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuGraphLaunch(first, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph captured = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CU_EXPECT(cuGraphExecDestroy(first));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuGraphDestroy(parent));
}

TEST_F(GraphMemoryTest, AnExecutableGraphFollowsAGraphThatWasCapturedAgain) {
  const auto capture = [&](CUdeviceptr* data, uint32_t value) {
    CUgraph graph = nullptr;
    CU_EXPECT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU_EXPECT(cuMemAllocAsync(data, kBytes, stream_));
    CU_EXPECT(cuMemsetD32Async(*data, value, kCount, stream_));
    CU_EXPECT(cuMemcpyDtoDAsync_v2(result_, *data, kBytes, stream_));
    CU_EXPECT(cuMemFreeAsync(*data, stream_));
    CU_EXPECT(cuStreamEndCapture(stream_, &graph));
    return graph;
  };
  CUdeviceptr old_data = 0, new_data = 0;
  const CUgraph old_graph = capture(&old_data, 1), new_graph = capture(&new_data, 2);
  EXPECT_NE(old_data, new_data);
  CUgraphExec exec = nullptr, other = nullptr;
  CU_ASSERT(Instantiate(&exec, old_graph));
  CUgraphExecUpdateResultInfo info{};
  CU_ASSERT(Instantiate(&other, new_graph));
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, new_graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);  // it is `other`'s
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
  CU_EXPECT(cuGraphExecDestroy(other));
  CU_ASSERT(cuGraphExecUpdate_v2(exec, new_graph, &info));
  EXPECT_EQ(Instantiate(&other, new_graph), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuGraphDestroy(old_graph));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(result_, kCount), std::vector<uint32_t>(kCount, 2));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(new_graph));
}

TEST_F(GraphMemoryTest, ALongChainOfBuffersTakesTheMemoryOfOne) {
  constexpr size_t kLarge = 64 << 20;
  const uint64_t before = Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 100; ++i) {
    CUdeviceptr data = 0;
    CU_ASSERT(cuMemAllocAsync(&data, kLarge, stream_));
    CU_EXPECT(cuMemsetD32Async(data, 1, kCount, stream_));
    CU_EXPECT(AddOne(result_, kCount, stream_));
    CU_EXPECT(cuMemFreeAsync(data, stream_));
  }
  CUgraph graph = nullptr;
  CU_ASSERT(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), before + kLarge);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(result_, 1)[0], 100u);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), before);
}

// Two that live at the same time have memory of their own.
TEST_F(GraphMemoryTest, BuffersThatLiveTogetherDoNotOverlap) {
  const CUgraph graph = NewGraph();
  CUgraphNode first = nullptr, free = nullptr, beside = nullptr, after = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &first);
  CU_ASSERT(cuGraphAddMemFreeNode(&free, graph, &first, 1, data));
  EXPECT_NE(AddAllocation(graph, &beside, first), data);  // not after the free
  EXPECT_NE(AddAllocation(graph, &beside, free, kBytes / 2), data);  // of another size
  EXPECT_EQ(AddAllocation(graph, &after, free), data);
  EXPECT_NE(AddAllocation(graph, &beside, free), data);  // taken
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, TheDeviceCountsWhatGraphsHave) {
  CU_EXPECT(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(cuDeviceGraphMemTrim(99), CUDA_ERROR_INVALID_DEVICE);
  uint64_t zero = 0, one = 1;
  for (const auto high : {CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH}) {
    CU_EXPECT(cuDeviceSetGraphMemAttribute(0, high, &zero));
    EXPECT_EQ(cuDeviceSetGraphMemAttribute(0, high, &one), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(0, 4, &zero), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(99, 0, &zero), CUDA_ERROR_INVALID_DEVICE);
  size_t free_before = 0, free_with = 0, free_after = 0, total = 0;
  CU_EXPECT(cuMemGetInfo_v2(&free_before, &total));
  constexpr size_t kLarge = 8 << 20;
  const CUgraph graph = NewGraph();
  CUgraphNode node = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &node, nullptr, kLarge);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), kLarge);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), kLarge);
  CU_EXPECT(cuMemGetInfo_v2(&free_with, &total));
  EXPECT_GE(free_before, free_with + kLarge);
  CU_EXPECT(cuMemFreeAsync(data, stream_));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), kLarge);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuStreamSynchronize(stream_));
  CU_EXPECT(cuMemGetInfo_v2(&free_after, &total));
  EXPECT_EQ(free_after, free_before);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), kLarge);
}

TEST_F(GraphMemoryTest, MemoryUsedIsNeverMoreThanReserved) {
  uint64_t zero = 0;
  for (const auto high : {CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH})
    CU_EXPECT(cuDeviceSetGraphMemAttribute(0, high, &zero));
  const CUgraph graph = NewGraph();
  CUgraphNode first = nullptr, free = nullptr, second = nullptr;
  const CUdeviceptr data = AddAllocation(graph, &first);
  CU_ASSERT(cuGraphAddMemFreeNode(&free, graph, &first, 1, data));
  ASSERT_EQ(AddAllocation(graph, &second, free), data);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), kBytes);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), kBytes);
  CU_EXPECT(cuMemFree_v2(data));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, ThreadsMakeLaunchAndFreeAtOnce) {
  const CUfunction add_one = Function("add_one");
  const auto work = [&] {
    CU_ASSERT(cuCtxSetCurrent(context_));
    for (int round = 0; round < 50; ++round) {
      CUstream stream = nullptr, beside = nullptr;
      CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      CU_ASSERT(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
      CUdeviceptr flag = 0, kept = 0, passing = 0;
      CU_ASSERT(cuMemAllocAsync(&flag, 8, stream));
      CU_ASSERT(cuMemsetD32Async(flag, 0, 2, stream));
      CU_ASSERT(cuStreamSynchronize(stream));
      CU_ASSERT(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
      CU_EXPECT(cuMemAllocAsync(&kept, kBytes, stream));
      CU_EXPECT(cuMemAllocAsync(&passing, kBytes, stream));
      CU_EXPECT(cuMemsetD32Async(kept, 1, kCount, stream));
      CU_EXPECT(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
      CU_EXPECT(AddOneWith(add_one, kept, stream));
      CU_EXPECT(cuMemFreeAsync(passing, stream));
      CUgraph graph = nullptr;
      CU_ASSERT(cuStreamEndCapture(stream, &graph));
      CUgraphExec exec = nullptr;
      CU_ASSERT(Instantiate(&exec, graph));
      CU_ASSERT(cuGraphLaunch(exec, stream));
      CU_EXPECT(cuGraphExecDestroy(exec));
      CU_EXPECT(cuGraphDestroy(graph));
      CU_EXPECT(cuStreamWriteValue32_v2(beside, flag, 1, 0));
      CU_EXPECT(cuStreamSynchronize(stream));
      EXPECT_EQ(Read(kept, kCount), std::vector<uint32_t>(kCount, 2));
      CU_EXPECT(cuMemFreeAsync(kept, stream));
      CU_EXPECT(cuMemFreeAsync(flag, beside));
      CU_EXPECT(cuStreamDestroy_v2(stream));
      CU_EXPECT(cuStreamDestroy_v2(beside));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0u);
}

TEST_F(GraphMemoryTest, ALaunchThatFailsAllocatesNothing) {
  CUmodule unloaded = nullptr;
  CUfunction gone = nullptr;
  CU_ASSERT(cuModuleLoadData(&unloaded, kPtx));
  CU_ASSERT(cuModuleGetFunction(&gone, unloaded, "add_one"));
  const CUgraph graph = NewGraph();
  CUgraphNode allocate = nullptr, kernel = nullptr;
  CUdeviceptr data = AddAllocation(graph, &allocate);
  const CUgraphNode fill = AddFill(graph, allocate, data, 4);
  uint32_t count = kCount;
  void* arguments[] = {&data, &count};
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = gone;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
  p.blockDimX = kCount;
  p.kernelParams = arguments;
  CU_ASSERT(cuGraphAddKernelNode_v2(&kernel, graph, &fill, 1, &p));
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuModuleUnload(unloaded));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
  p.func = Function("add_one");
  CU_ASSERT(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &p));
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 5));
  CU_EXPECT(cuMemFree_v2(data));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(GraphMemoryTest, MemoryOfAGraphEndsWithItsContext) {
  const uint64_t reserved = Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
  CUcontext ending = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&ending, 0, 0));
  const CUgraph graph = NewGraph(), other = NewGraph();
  CUgraphNode passing = nullptr, free = nullptr, kept = nullptr, node = nullptr;
  const CUdeviceptr freed = AddAllocation(graph, &passing);
  CU_ASSERT(cuGraphAddMemFreeNode(&free, graph, &passing, 1, freed));
  const CUdeviceptr live = AddAllocation(graph, &kept, nullptr, 2 * kBytes);
  CUgraphExec exec = nullptr;
  CU_ASSERT(Instantiate(&exec, graph));
  CU_ASSERT(cuGraphLaunch(exec, nullptr));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 2 * kBytes);
  CU_ASSERT(cuCtxDestroy_v2(ending));
  CU_ASSERT(cuCtxSetCurrent(context_));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), reserved);
  EXPECT_EQ(cuMemFree_v2(live), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, other, nullptr, 0, live), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  // A node that is added now gets memory that is there.
  const CUdeviceptr fresh = AddAllocation(graph, &node, free);
  CU_EXPECT(cuMemsetD32_v2(fresh, 1, kCount));
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuGraphDestroy(other));
  EXPECT_EQ(Attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), reserved);
}

}  // namespace
}  // namespace tutti::compat
