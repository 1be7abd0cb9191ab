// A kernel with an illegal write: every later call returns its error, until the context is reset. A program of its own,
// since the error sticks to the process.
#include "driver/fixture.h"
#include "driver/long_copy.h"

namespace tutti::compat {
namespace {

class FaultTest : public DriverTest {
 protected:
  // By a module of its own, which the reset ends.
  void Fault() {
    CUdeviceptr nowhere = 0xdead0000;
    void* parameters[] = {&nowhere};
    CUmodule doomed = nullptr;
    CUfunction stray = nullptr;
    CU_ASSERT(cuModuleLoadData(&doomed, kPtx));
    CU_ASSERT(cuModuleGetFunction(&stray, doomed, "stray"));
    CU_ASSERT(Launch(stray, 1, 1, parameters));
  }
};

TEST_F(FaultTest, AStrayWriteFailsItsContextUntilReset) {
  const CUdeviceptr data = Allocate(4);
  Fault();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  uint32_t value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, data, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc_v2(&more, 4), CUDA_ERROR_ILLEGAL_ADDRESS);

  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  CUmodule fresh = nullptr;
  CUfunction fill = nullptr;
  CU_ASSERT(cuModuleLoadData(&fresh, kPtx));
  CU_ASSERT(cuModuleGetFunction(&fill, fresh, "fill"));
  CUdeviceptr again = Allocate(4);
  uint32_t n = 1, seven = 7;
  void* arguments[] = {&again, &n, &seven};
  CU_ASSERT(Launch(fill, 1, 1, arguments));
  EXPECT_EQ(Read(again, 1)[0], 7u);
  CU_EXPECT(cuModuleUnload(fresh));
}

// The value never comes; nobody looks for it any more after the reset.
TEST_F(FaultTest, AStreamThatWaitsForAValueIsToldToo) {
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr value = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(value, 0, 1));
  CU_ASSERT(cuStreamWaitValue32_v2(stream, value, 1, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  Fault();
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  const CUdeviceptr again = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(again, 0, 1));
  CU_ASSERT(cuStreamWaitValue32_v2(nullptr, again, 1, CU_STREAM_WAIT_VALUE_EQ));
  CUstream other = nullptr;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamWriteValue32_v2(other, again, 1, 0));
  CU_EXPECT(cuStreamSynchronize(nullptr));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

TEST_F(FaultTest, ItEndsALoopOfAGraphThatGoesRoundOverNothing) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUstream stream = nullptr;
  CUgraphNodeParams loop{};
  loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  loop.conditional.size = 1;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuGraphCreate(&graph, 0));
  CU_ASSERT(cuGraphConditionalHandleCreate(&loop.conditional.handle, graph, context_, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CU_ASSERT(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &loop));
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU_ASSERT(cuGraphLaunch(exec, stream));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  Fault();
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  const CUdeviceptr again = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(again, 9, 1));
  EXPECT_EQ(Read(again, 1)[0], 9u);
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

TEST_F(FaultTest, WhoSynchronisesIsToldWhenTheCopyBeingMadeIsOver) {
  LongCopy copy;
  copy.Begin();
  Fault();
  EXPECT_EQ(cuStreamSynchronize(copy.stream()), CUDA_ERROR_ILLEGAL_ADDRESS);
  copy.ExpectOver();
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

TEST_F(FaultTest, WhoAsksIsToldWhenTheCopyBeingMadeIsOver) {
  LongCopy copy;
  copy.Begin();
  Fault();
  CUresult answer = CUDA_SUCCESS;
  while (answer == CUDA_SUCCESS || answer == CUDA_ERROR_NOT_READY) answer = cuStreamQuery(copy.stream());
  EXPECT_EQ(answer, CUDA_ERROR_ILLEGAL_ADDRESS);
  copy.ExpectOver();
  CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
}

}  // namespace
}  // namespace tutti::compat
