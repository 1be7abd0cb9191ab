// What a stream capture forbids meanwhile, and which branches of a graph may overlap.
#include <atomic>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

class CaptureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    data_ = Allocate(4096);
  }
  void TearDown() override {
    CU_EXPECT(cuMemFree_v2(data_));
    CU_EXPECT(cuStreamDestroy_v2(stream_));
    DriverTest::TearDown();
  }
  void Begin(CUstreamCaptureMode mode) { CU_EXPECT(cuStreamBeginCapture_v2(stream_, mode)); }
  // Ends the capture with a node in it, and what it then said.
  CUresult End() {
    CUgraph graph = nullptr;
    const CUresult status = cuStreamEndCapture(stream_, &graph);
    if (graph != nullptr) {
      CU_EXPECT(cuGraphDestroy(graph));
    }
    return status;
  }
  static CUresult AllocateOnce() {
    CUdeviceptr data = 0;
    const CUresult status = cuMemAlloc_v2(&data, 4096);
    if (status == CUDA_SUCCESS) {
      CU_EXPECT(cuMemFree_v2(data));
    }
    return status;
  }
  CUresult AllocateInAThread() const {
    CUresult status = CUDA_ERROR_UNKNOWN;
    std::thread other([&] {
      CU_EXPECT(cuCtxSetCurrent(context_));
      status = AllocateOnce();
    });
    other.join();
    return status;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr data_ = 0;
};

TEST_F(CaptureTest, AGlobalCaptureForbidsAllocationsToEveryThread) {
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(AllocateInAThread(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(AllocateInAThread(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, ACaptureOfItsThreadForbidsThemToThatThread) {
  Begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(AllocateInAThread(), CUDA_SUCCESS);
  EXPECT_EQ(AllocateOnce(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, ARelaxedCaptureAndARelaxedThreadForbidNothing) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(AllocateOnce(), CUDA_SUCCESS);
  EXPECT_EQ(End(), CUDA_SUCCESS);
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CU_ASSERT(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(AllocateOnce(), CUDA_SUCCESS);
  CU_ASSERT(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(End(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, AnEventMayNotBeAskedForBesideACapture) {
  CUevent event;
  CU_ASSERT(cuEventCreate(&event, 0));
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CU_EXPECT(cuEventQuery(event));
  CU_EXPECT(cuEventDestroy_v2(event));
}

TEST_F(CaptureTest, AnEventMayNotBeWaitedForBesideACapture) {
  CUevent event;
  CU_ASSERT(cuEventCreate(&event, 0));
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CU_EXPECT(cuEventSynchronize(event));
  EXPECT_EQ(End(), CUDA_SUCCESS);
  CU_EXPECT(cuEventDestroy_v2(event));
}

TEST_F(CaptureTest, AContextWithACapturedStreamMayNotBeWaitedForInAnyMode) {
  for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    Begin(mode);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU_EXPECT(cuCtxSynchronize());
  }
}

TEST_F(CaptureTest, ModulesAreNeitherLoadedNorUnloadedBesideACapture) {
  static constexpr char kPtx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  CUmodule before = nullptr, module = nullptr;
  CU_ASSERT(cuModuleLoadData(&before, kPtx));
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuModuleLoadData(&module, kPtx), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(cuModuleUnload(before), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(End(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CU_EXPECT(cuModuleLoadData(&module, kPtx));
  CU_EXPECT(cuModuleUnload(module));
  EXPECT_EQ(End(), CUDA_SUCCESS);
  CU_EXPECT(cuModuleUnload(before));
}

TEST_F(CaptureTest, TheLegacyStreamIsRefusedBesideACapturedStreamThatWaitsForIt) {
  CUstream blocking;
  CU_ASSERT(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CU_ASSERT(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureStatus status = 0;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CU_EXPECT(cuStreamIsCapturing(blocking, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CU_EXPECT(cuMemsetD32Async(data_, 1, 4, stream_));
  EXPECT_EQ(cuMemsetD32Async(data_, 1, 4, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CU_EXPECT(cuMemsetD32Async(data_, 1, 4, nullptr));
  CU_EXPECT(cuStreamDestroy_v2(blocking));
}

TEST_F(CaptureTest, TheLegacyStreamWorksBesideACapturedStreamThatDoesNot) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CU_EXPECT(cuMemsetD32Async(data_, 1, 4, nullptr));
  EXPECT_EQ(End(), CUDA_SUCCESS);
}

// The list that was given out stays as it was while another thread goes on capturing.
TEST_F(CaptureTest, AListOfDependenciesStaysWhatItWas) {
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  CU_EXPECT(cuMemsetD32Async(data_, 1, 4, stream_));
  CUstreamCaptureStatus status = 0;
  const CUgraphNode* nodes = nullptr;
  size_t count = 0;
  CU_ASSERT(cuStreamGetCaptureInfo_v2(stream_, &status, nullptr, nullptr, &nodes, &count));
  ASSERT_EQ(count, 1u);
  const CUgraphNode first = nodes[0];
  CU_EXPECT(cuMemsetD32Async(data_, 2, 4, stream_));
  EXPECT_EQ(nodes[0], first);
  EXPECT_EQ(End(), CUDA_SUCCESS);
}

// A kernel in one branch that ends when a host function in its sister has run.
TEST_F(CaptureTest, BranchesOfAGraphOverlap) {
  void* flag = nullptr;
  CU_ASSERT(cuMemHostAlloc(&flag, 4, 0));
  *static_cast<volatile uint32_t*>(flag) = 0;
  CUgraph graph;
  CU_ASSERT(cuGraphCreate(&graph, 0));
  void* parameters[] = {&flag};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = Function("spin");
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  const auto set = [](void* word) { std::atomic_ref(*static_cast<uint32_t*>(word)).store(1); };
  const CUDA_HOST_NODE_PARAMS host{.fn = set, .userData = flag};
  const CUDA_MEMSET_NODE_PARAMS fill{.dst = data_, .pitch = 4, .value = 7, .elementSize = 4, .width = 1, .height = 1};
  CUgraphNode root, branches[2], join;
  CU_ASSERT(cuGraphAddEmptyNode(&root, graph, nullptr, 0));
  CU_ASSERT(cuGraphAddKernelNode_v2(&branches[0], graph, &root, 1, &kernel));
  CU_ASSERT(cuGraphAddHostNode(&branches[1], graph, &root, 1, &host));
  CU_ASSERT(cuGraphAddMemsetNode(&join, graph, branches, 2, &fill, context_));
  CUgraphExec exec;
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) {
    *static_cast<volatile uint32_t*>(flag) = 0;
    CU_ASSERT(cuMemsetD32Async(data_, 0, 1, stream_));
    CU_ASSERT(cuGraphLaunch(exec, stream_));
    CU_ASSERT(cuStreamSynchronize(stream_));
    EXPECT_EQ(Read(data_, 1)[0], 7u);
  }
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuMemFreeHost(flag));
}

}  // namespace
}  // namespace tutti::compat
