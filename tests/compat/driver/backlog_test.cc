// A large backlog: whatever the order of submission, work that other work or the program waits for gets through.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr int kBehindTheGate = 600;  // less than CUDA itself allows in a stream
constexpr int kBeforeTheKey = 100'000;
constexpr uint32_t kMoreThanAStreamHolds = 20'000;

class BacklogTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (CUstream* stream : {&gated_, &other_, &key_}) CU_ASSERT(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    for (CUstream stream : {gated_, other_, key_}) CU_EXPECT(cuStreamDestroy_v2(stream));
    DriverTest::TearDown();
  }

  // A kernel in `gated_` that runs until the gate is opened.
  void CloseGate() {
    flag_ = Allocate(4);
    CU_ASSERT(cuMemsetD32_v2(flag_, 0, 1));
    void* spin[] = {&flag_};
    CU_ASSERT(cuLaunchKernel(Function("spin"), 1, 1, 1, 1, 1, 1, 0, gated_, spin, nullptr));
  }
  // Behind what is in `stream`.
  CUresult OpenGate(CUstream stream) { return AddOne(flag_, 1, stream); }

  // A thread that submits to `gated_` until it blocks.
  std::thread Fill(const std::function<CUresult()>& submit) {
    std::thread filler([this, submit] {
      CU_ASSERT(cuCtxSetCurrent(context_));
      for (uint32_t i = 0; i < kMoreThanAStreamHolds; ++i) {
        CU_ASSERT(submit());
        ++submitted_;
      }
    });
    // It is blocked once this no longer changes; if it is only slow, the rest holds all the same.
    for (uint32_t seen = 0; submitted_ < kMoreThanAStreamHolds && (seen == 0 || submitted_ != seen);) {
      seen = submitted_;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_LT(submitted_, kMoreThanAStreamHolds);
    return filler;
  }

  CUstream gated_ = nullptr, other_ = nullptr, key_ = nullptr;

 private:
  CUdeviceptr flag_ = 0;
  std::atomic<uint32_t> submitted_{0};
};

TEST_F(BacklogTest, AKernelThatWaitsForTheLastOfManyLaunchesInAnotherStreamEnds) {
  CUdeviceptr gated_count = Allocate(4), other_count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(gated_count, 0, 1));
  CU_ASSERT(cuMemsetD32_v2(other_count, 0, 1));
  CloseGate();
  for (int i = 0; i < kBehindTheGate; ++i) CU_ASSERT(AddOne(gated_count, 1, gated_));
  for (int i = 0; i < kBeforeTheKey; ++i) CU_ASSERT(AddOne(other_count, 1, other_));
  EXPECT_EQ(cuStreamQuery(gated_), CUDA_ERROR_NOT_READY);
  CU_ASSERT(OpenGate(other_));
  CU_ASSERT(cuStreamSynchronize(gated_));
  EXPECT_EQ(Read(gated_count, 1), std::vector<uint32_t>{kBehindTheGate});
  EXPECT_EQ(Read(other_count, 1), std::vector<uint32_t>{kBeforeTheKey});
}

TEST_F(BacklogTest, LaunchesBehindAHostFunctionWaitForItHoweverManyTheyAre) {
  CUdeviceptr count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(count, 0, 1));
  constexpr int kLaunches = 400'000;
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::seconds(3)); };
  CU_ASSERT(cuLaunchHostFunc(nullptr, sleep, nullptr));
  for (int i = 0; i < kLaunches; ++i) CU_ASSERT(AddOne(count, 1));
  CU_ASSERT(cuCtxSynchronize());
  EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{kLaunches});
}

// A thread that a full stream blocks blocks nobody else.
TEST_F(BacklogTest, AFullStreamHoldsUpOnlyTheThreadThatFillsIt) {
  CUdeviceptr count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(count, 0, 1));
  CUfunction add_one = Function("add_one");
  CloseGate();
  std::thread filler = Fill([&] {
    uint32_t n = 1;
    void* parameters[] = {&count, &n};
    return cuLaunchKernel(add_one, 1, 1, 1, 1, 1, 1, 0, gated_, parameters, nullptr);
  });
  CU_ASSERT(OpenGate(key_));
  filler.join();
  CU_ASSERT(cuStreamSynchronize(gated_));
  EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{kMoreThanAStreamHolds});
}

// Also one that blocks while it records an event: others may query the event, and record it elsewhere.
TEST_F(BacklogTest, AnEventThatIsBeingRecordedInAFullStreamCanBeAskedAndRecordedInAnother) {
  CUevent event;
  CU_ASSERT(cuEventCreate(&event, 0));
  CloseGate();
  std::thread filler = Fill([&] { return cuEventRecord(event, gated_); });
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  CU_EXPECT(cuEventRecord(event, other_));
  CU_EXPECT(cuEventSynchronize(event));
  CU_ASSERT(OpenGate(key_));
  filler.join();
  CU_EXPECT(cuEventSynchronize(event));
  EXPECT_EQ(cuStreamQuery(gated_), CUDA_SUCCESS) << "recorded there last";
  CU_EXPECT(cuEventDestroy_v2(event));
}

// Also one that blocks while it launches a graph: another launch of it, elsewhere, comes after those that got through.
TEST_F(BacklogTest, AGraphThatIsBeingLaunchedInAFullStreamCanBeLaunchedInAnother) {
  std::vector<CUdeviceptr> counts{Allocate(4), Allocate(4)};  // each of a branch of its own
  CUgraph graph = nullptr;
  CU_ASSERT(cuGraphCreate(&graph, 0));
  for (CUdeviceptr& count : counts) {
    CU_ASSERT(cuMemsetD32_v2(count, 0, 1));
    uint32_t n = 1;
    void* parameters[] = {&count, &n};
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = Function("add_one");
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    CUgraphNode node = nullptr;
    CU_ASSERT(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &p));
  }
  CUgraphExec exec = nullptr;
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU_ASSERT(cuCtxSynchronize());
  CloseGate();
  std::thread filler = Fill([&] { return cuGraphLaunch(exec, gated_); });
  CU_EXPECT(cuGraphLaunch(exec, other_));
  EXPECT_EQ(cuStreamQuery(other_), CUDA_ERROR_NOT_READY);
  CU_ASSERT(OpenGate(key_));
  filler.join();
  for (CUstream stream : {other_, gated_}) CU_ASSERT(cuStreamSynchronize(stream));
  for (const CUdeviceptr count : counts) EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{kMoreThanAStreamHolds + 1});
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
}

}  // namespace
}  // namespace tutti::compat
