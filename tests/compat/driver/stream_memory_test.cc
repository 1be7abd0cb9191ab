// Streams that wait for values in memory, and write them.
#include <algorithm>
#include <atomic>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

CUstreamBatchMemOpParams Operation(int operation, CUdeviceptr address, uint64_t value, unsigned flags = 0) {
  CUstreamBatchMemOpParams p{.pad = {}};
  p.value = {.operation = operation, .address = address, .value = value, .flags = flags, .alias = 0};
  return p;
}
CUstreamBatchMemOpParams Fence(int operation, unsigned flags = 0) {
  CUstreamBatchMemOpParams p{.pad = {}};
  p.fence = {.operation = operation, .flags = flags};
  return p;
}

class StreamMemoryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    void* host = nullptr;
    CU_ASSERT(cuMemHostAlloc(&host, 4096, 0));
    word_ = static_cast<uint64_t*>(host);
    CU_ASSERT(cuMemHostGetDevicePointer_v2(&flag_, host, 0));
    data_ = Allocate(4096);
    CU_ASSERT(cuMemsetD32_v2(data_, 0, 1024));
    Store(0);
    module();  // no module is loaded beside a capture
  }
  void TearDown() override {
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuMemFreeHost(word_));
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    CU_EXPECT(cuStreamDestroy_v2(other_));
    DriverTest::TearDown();
  }
  // As the program writes: nobody is told.
  void Store(uint64_t value) { std::atomic_ref(*word_).store(value); }
  void Store32(uint32_t value) { std::atomic_ref(*reinterpret_cast<uint32_t*>(word_)).store(value); }
  uint32_t Load32(uint32_t index) { return std::atomic_ref(reinterpret_cast<uint32_t*>(word_)[index]).load(); }
  // What has come behind a wait of the stream ran when `let` was called, and not before.
  template <typename Let>
  void ExpectHeldUntil(Let let) {
    CU_ASSERT(cuMemsetD32_v2(data_, 0, 1));
    CU_ASSERT(AddOne(data_, 1, stream_));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(Read(data_, 1)[0], 0u);
    let();
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Read(data_, 1)[0], 1u);
  }

  CUstream stream_ = nullptr, other_ = nullptr;
  uint64_t* word_ = nullptr;
  CUdeviceptr flag_ = 0, data_ = 0;
};

TEST_F(StreamMemoryTest, TheDeviceSaysThatItHasThem) {
  for (const CUdevice_attribute attribute : {92, 93, 94, 98, 122, 123}) {
    int value = 0;
    CU_EXPECT(cuDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, 1) << attribute;
  }
}

TEST_F(StreamMemoryTest, AStoreOfTheProgramEndsAWait) {
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  ExpectHeldUntil([&] { Store32(1); });
}

TEST_F(StreamMemoryTest, EveryComparisonIn32And64Bits) {
  struct Case {
    unsigned flags;
    uint64_t value, not_yet, now;
  };
  static constexpr Case kCases[] = {
      {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 9},
      {CU_STREAM_WAIT_VALUE_EQ, 5, 9, 5},
      {CU_STREAM_WAIT_VALUE_AND, 6, 9, 2},
      {CU_STREAM_WAIT_VALUE_NOR, 0xffff'ffff'ffff'fff0, 0xf, 7},
      {CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH, 5, 4, 5},
  };
  for (const Case& c : kCases) {
    Store(c.not_yet);
    CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, static_cast<uint32_t>(c.value), c.flags));
    ExpectHeldUntil([&] { Store(c.now); });
    Store(c.not_yet);
    CU_ASSERT(cuStreamWaitValue64_v2(stream_, flag_, c.value, c.flags));
    ExpectHeldUntil([&] { Store(c.now); });
  }
}

TEST_F(StreamMemoryTest, AValueThatIsThereHoldsNothing) {
  Store(3);
  CU_ASSERT(cuStreamWaitValue64_v2(stream_, flag_, 3, CU_STREAM_WAIT_VALUE_EQ));
  CU_EXPECT(cuStreamQuery(stream_));
}

// The wait is for the value when the stream gets there, not for the one of the call.
TEST_F(StreamMemoryTest, AWaitComparesWhenItsTurnComes) {
  Store(1);
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 2, CU_STREAM_WAIT_VALUE_EQ));
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  Store(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  Store(1);
  CU_EXPECT(cuStreamSynchronize(stream_));
}

TEST_F(StreamMemoryTest, AKernelACopyAndAnotherStreamEndAWait) {
  const CUdeviceptr flag = Allocate(8);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 2));
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
  ExpectHeldUntil([&] { CU_EXPECT(AddOne(flag, 1, other_)); });
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag, 2, CU_STREAM_WAIT_VALUE_GEQ));
  const uint32_t two = 2;
  ExpectHeldUntil([&] { CU_EXPECT(cuMemcpyHtoDAsync_v2(flag, &two, 4, other_)); });
  CU_ASSERT(cuStreamWaitValue64_v2(stream_, flag, 1ull << 40, CU_STREAM_WAIT_VALUE_GEQ));
  ExpectHeldUntil([&] { CU_EXPECT(cuStreamWriteValue64_v2(other_, flag, 1ull << 40, 0)); });
  CU_EXPECT(cuMemFree_v2(flag));
}

TEST_F(StreamMemoryTest, TwoStreamsPassABallToAndFro) {
  constexpr uint32_t kRounds = 200;
  for (uint32_t round = 0; round < kRounds; ++round) {
    CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 2 * round, CU_STREAM_WAIT_VALUE_EQ));
    CU_ASSERT(AddOne(data_, 1, stream_));
    CU_ASSERT(cuStreamWriteValue32_v2(stream_, flag_, 2 * round + 1, 0));
    CU_ASSERT(cuStreamWaitValue32_v2(other_, flag_, 2 * round + 1, CU_STREAM_WAIT_VALUE_EQ));
    CU_ASSERT(AddOne(data_, 1, other_));
    CU_ASSERT(cuStreamWriteValue32_v2(other_, flag_, 2 * round + 2, 0));
  }
  CU_EXPECT(cuStreamSynchronize(stream_));
  CU_EXPECT(cuStreamSynchronize(other_));
  EXPECT_EQ(Read(data_, 1)[0], 2 * kRounds);
}

TEST_F(StreamMemoryTest, AHundredStreamsWaitEachForItsOwn) {
  std::vector<CUstream> streams(100);
  for (uint32_t i = 0; i < streams.size(); ++i) {
    CU_ASSERT(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CU_ASSERT(cuStreamWaitValue32_v2(streams[i], flag_ + 4 * i, i + 1, CU_STREAM_WAIT_VALUE_EQ));
    CU_ASSERT(cuStreamWriteValue32_v2(streams[i], data_ + 4 * i, 7, 0));
  }
  for (uint32_t i = static_cast<uint32_t>(streams.size()); i-- > 0;) {
    EXPECT_EQ(cuStreamQuery(streams[i]), CUDA_ERROR_NOT_READY);
    std::atomic_ref(reinterpret_cast<uint32_t*>(word_)[i]).store(i + 1);
    CU_EXPECT(cuStreamSynchronize(streams[i]));
    EXPECT_EQ(Read(data_, i + 1)[i], 7u);
  }
  for (const CUstream stream : streams) CU_EXPECT(cuStreamDestroy_v2(stream));
}

TEST_F(StreamMemoryTest, OtherStreamsCopiesAndFunctionsGoOnMeanwhile) {
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_ASSERT(AddOne(data_, 64, other_));
  int called = 0;
  CU_ASSERT(cuLaunchHostFunc(other_, [](void* count) { ++*static_cast<int*>(count); }, &called));
  CU_EXPECT(cuStreamSynchronize(other_));
  EXPECT_EQ(called, 1);
  EXPECT_EQ(Read(data_, 64), std::vector<uint32_t>(64, 1));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  Store32(1);
  CU_EXPECT(cuStreamSynchronize(stream_));
}

// A stream may wait for as long as the program runs.
TEST_F(StreamMemoryTest, WhatOtherStreamsFreeIsThereAgainMeanwhile) {
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_ASSERT(AddOne(data_, 1, stream_));
  size_t free = 0, total = 0;
  CU_ASSERT(cuMemGetInfo_v2(&free, &total));
  for (int round = 0; round < 8; ++round) {
    CUdeviceptr memory = 0;
    CU_ASSERT(cuMemAllocAsync(&memory, free / 4, other_));
    CU_EXPECT(AddOne(memory, 64, other_));
    CU_EXPECT(cuMemcpyDtoDAsync_v2(data_ + 256, memory, 256, other_));
    CU_EXPECT(cuMemFreeAsync(memory, other_));
    CU_EXPECT(cuStreamSynchronize(other_));
    EXPECT_EQ(Read(data_ + 256, 1)[0], 1u);
  }
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  Store32(1);
  CU_EXPECT(cuStreamSynchronize(stream_));
}

TEST_F(StreamMemoryTest, AStreamThatIsDestroyedWhileItWaitsTakesOnePlace) {
  CUstream waiting = nullptr, stream = nullptr;
  CU_ASSERT(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamWaitValue32_v2(waiting, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_ASSERT(cuStreamWriteValue32_v2(waiting, flag_ + 8, 7, 0));
  CU_ASSERT(cuStreamDestroy_v2(waiting));
  for (int i = 0; i < 9000; ++i) {
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS) << i;
    CU_ASSERT(cuStreamDestroy_v2(stream));
  }
  EXPECT_EQ(Load32(2), 0u);
  Store32(1);
  while (Load32(2) != 7) std::this_thread::yield();
}

TEST_F(StreamMemoryTest, AnEventThatIsDestroyedWhileItsStreamWaitsTakesOnePlace) {
  CUevent event = nullptr;
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_ASSERT(cuEventCreate(&event, 0));
  CU_ASSERT(cuEventRecord(event, stream_));
  CU_ASSERT(cuEventDestroy_v2(event));
  for (int i = 0; i < 70'000; ++i) {
    ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS) << i;
    CU_ASSERT(cuEventDestroy_v2(event));
  }
  Store32(1);
  CU_EXPECT(cuStreamSynchronize(stream_));
}

TEST_F(StreamMemoryTest, MemoryThatIsNotThereIsRefusedAtOnce) {
  CU_ASSERT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  size_t free = 0, total = 0;
  CU_ASSERT(cuMemGetInfo_v2(&free, &total));
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 2 * total), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocAsync(&memory, 2 * total, other_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocManaged(&memory, 2 * total, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  Store32(1);
  CU_EXPECT(cuStreamSynchronize(stream_));
}

TEST_F(StreamMemoryTest, ABatchIsDoneInItsOrder) {
  CUstreamBatchMemOpParams batch[] = {
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, flag_ + 8, 11),
      Operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, flag_, 1, CU_STREAM_WAIT_VALUE_EQ),
      Fence(CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_GPU),
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, flag_ + 16, 22ull << 32 | 21),
      Fence(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES),
      Operation(CU_STREAM_MEM_OP_WAIT_VALUE_64, flag_, 2, CU_STREAM_WAIT_VALUE_EQ),
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, flag_ + 8, 33),
  };
  CU_ASSERT(cuStreamBatchMemOp_v2(stream_, std::size(batch), batch, 0));
  while (Load32(2) != 11) std::this_thread::yield();
  EXPECT_EQ(Load32(4), 0u);
  Store32(1);
  while (Load32(5) != 22) std::this_thread::yield();
  EXPECT_EQ(Load32(4), 21u);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Load32(2), 11u);
  Store(2);
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Load32(2), 33u);
  CU_EXPECT(cuStreamBatchMemOp_v2(stream_, 0, nullptr, 0));
}

TEST_F(StreamMemoryTest, WhatIsWrongIsRefusedAndNothingIsSubmitted) {
  CUdeviceptr managed = 0, freed = Allocate(8);
  CU_ASSERT(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL));
  CU_ASSERT(cuMemFree_v2(freed));
  uint64_t local = 0;
  for (const CUdeviceptr address :
       {CUdeviceptr{0}, flag_ + 2, managed, freed, static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(&local))}) {
    EXPECT_EQ(cuStreamWaitValue32_v2(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
    EXPECT_EQ(cuStreamWriteValue32_v2(stream_, address, 0, 0), CUDA_ERROR_INVALID_VALUE) << address;
  }
  EXPECT_EQ(cuStreamWaitValue64_v2(stream_, flag_ + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue64_v2(stream_, flag_ + 4092, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32_v2(stream_, flag_, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32_v2(stream_, flag_, 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32_v2(reinterpret_cast<CUstream>(0x1234), flag_, 0, 0), CUDA_ERROR_INVALID_HANDLE);

  CUstreamBatchMemOpParams good_then_bad[] = {
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, flag_, 1),
      Operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, flag_ + 1, 1),
  };
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 2, good_then_bad, 0), CUDA_ERROR_INVALID_VALUE);
  for (const int unknown : {0, 7, -1}) {
    good_then_bad[1] = Operation(unknown, flag_, 1);
    EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 2, good_then_bad, 0), CUDA_ERROR_INVALID_VALUE);
  }
  good_then_bad[1] = Fence(CU_STREAM_MEM_OP_BARRIER, 2);
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 2, good_then_bad, 0), CUDA_ERROR_INVALID_VALUE);
  good_then_bad[1] = Fence(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 1);
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 2, good_then_bad, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 1, good_then_bad, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 1, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Load32(0), 0u);

  std::vector<CUstreamBatchMemOpParams> many(256, Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, flag_, 5));
  EXPECT_EQ(cuStreamBatchMemOp_v2(stream_, 256, many.data(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Load32(0), 0u);
  CU_EXPECT(cuStreamBatchMemOp_v2(stream_, 255, many.data(), 0));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Load32(0), 5u);
  CU_EXPECT(cuMemFree_v2(managed));
}

TEST_F(StreamMemoryTest, BarriersAreOfTheSecondVersionAndWritesWithoutOneOfBoth) {
  CUstreamBatchMemOpParams barrier = Fence(CU_STREAM_MEM_OP_BARRIER);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, &barrier, 0), CUDA_ERROR_NOT_SUPPORTED);
  CU_EXPECT(cuStreamBatchMemOp_v2(stream_, 1, &barrier, 0));
  CU_EXPECT(cuStreamWriteValue32(stream_, flag_, 9, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
  CU_EXPECT(cuStreamWriteValue32_v2(stream_, flag_ + 4, 8, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Load32(0), 9u);
  EXPECT_EQ(Load32(1), 8u);
}

TEST_F(StreamMemoryTest, CapturedTheyAreNodesOfAGraph) {
  CU_ASSERT(cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_EXPECT(cuStreamWaitValue32_v2(stream_, flag_, 1, CU_STREAM_WAIT_VALUE_EQ));
  CU_EXPECT(AddOne(data_, 1, stream_));
  CU_EXPECT(cuStreamWriteValue32_v2(stream_, flag_, 2, 0));
  CUgraph graph = nullptr;
  CU_ASSERT(cuStreamEndCapture(stream_, &graph));
  CUgraphNode nodes[3];
  size_t count = 3;
  CU_ASSERT(cuGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 3u);
  CUgraphNodeType type = -1;
  CU_EXPECT(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  CUgraphExec exec = nullptr;
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (uint32_t round = 1; round <= 3; ++round) {
    Store(0);
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    EXPECT_EQ(Read(data_, 1)[0], round - 1);
    Store32(1);
    CU_EXPECT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Load32(0), 2u);
    EXPECT_EQ(Read(data_, 1)[0], round);
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(StreamMemoryTest, NodesTellAndTakeTheirOperations) {
  CUgraph graph = nullptr;
  CU_ASSERT(cuGraphCreate(&graph, 0));
  CUstreamBatchMemOpParams batch[] = {
      Operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, flag_, 1, CU_STREAM_WAIT_VALUE_EQ),
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, flag_ + 8, 6),
  };
  CUDA_BATCH_MEM_OP_NODE_PARAMS p{.ctx = context_, .count = 2, .paramArray = batch, .flags = 0};
  CUgraphNode node = nullptr;
  CU_ASSERT(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &p));
  CUDA_BATCH_MEM_OP_NODE_PARAMS got{};
  CU_ASSERT(cuGraphBatchMemOpNodeGetParams(node, &got));
  EXPECT_EQ(got.ctx, context_);
  ASSERT_EQ(got.count, 2u);
  EXPECT_NE(got.paramArray, batch);
  EXPECT_EQ(got.paramArray[1].value.value, 6u);

  CUgraphExec exec = nullptr;
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  batch[0].value.value = 4;
  batch[0].value.flags = CU_STREAM_WAIT_VALUE_GEQ;
  batch[1].value.address = flag_ + 16;
  CU_ASSERT(cuGraphExecBatchMemOpNodeSetParams(exec, node, &p));
  CU_ASSERT(cuGraphBatchMemOpNodeGetParams(node, &got));
  EXPECT_EQ(got.paramArray[0].value.value, 1u);  // the node of the graph is as it was
  CU_ASSERT(cuGraphLaunch(exec, stream_));
  Store(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  Store(5);
  CU_EXPECT(cuStreamSynchronize(stream_));
  EXPECT_EQ(Load32(4), 6u);

  // Kinds and number of operations stay, and so does the context.
  const CUstreamBatchMemOpParams kept[] = {batch[0], batch[1]};
  std::swap(batch[0], batch[1]);
  EXPECT_EQ(cuGraphExecBatchMemOpNodeSetParams(exec, node, &p), CUDA_ERROR_INVALID_VALUE);
  std::copy(std::begin(kept), std::end(kept), batch);
  p.count = 1;
  EXPECT_EQ(cuGraphExecBatchMemOpNodeSetParams(exec, node, &p), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuGraphBatchMemOpNodeSetParams(node, &p));  // of a graph they may change
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  p.count = 2;
  p.ctx = nullptr;
  EXPECT_EQ(cuGraphExecBatchMemOpNodeSetParams(exec, node, &p), CUDA_ERROR_INVALID_VALUE);
  p.flags = 1;
  EXPECT_EQ(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &p), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

}  // namespace
}  // namespace tutti::compat
