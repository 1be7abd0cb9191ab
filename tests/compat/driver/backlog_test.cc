// Much work that waits: in whatever order it is submitted, what other work or the program waits for gets through.
#include <atomic>
#include <chrono>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using BacklogTest = DriverTest;

constexpr int kBehindTheGate = 600;  // less than CUDA itself lets wait in a stream
constexpr int kBeforeTheKey = 100'000;

TEST_F(BacklogTest, AKernelThatWaitsForTheLastOfManyLaunchesInAnotherStreamEnds) {
  CUstream gated, busy;
  CU_ASSERT(cuStreamCreate(&gated, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
  CUdeviceptr flag = Allocate(4), gated_count = Allocate(4), busy_count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CU_ASSERT(cuMemsetD32_v2(gated_count, 0, 1));
  CU_ASSERT(cuMemsetD32_v2(busy_count, 0, 1));
  void* spin[] = {&flag};
  CU_ASSERT(cuLaunchKernel(Function("spin"), 1, 1, 1, 1, 1, 1, 0, gated, spin, nullptr));
  for (int i = 0; i < kBehindTheGate; ++i) CU_ASSERT(AddOne(gated_count, 1, gated));
  for (int i = 0; i < kBeforeTheKey; ++i) CU_ASSERT(AddOne(busy_count, 1, busy));
  EXPECT_EQ(cuStreamQuery(gated), CUDA_ERROR_NOT_READY);
  CU_ASSERT(AddOne(flag, 1, busy));
  CU_ASSERT(cuStreamSynchronize(gated));
  EXPECT_EQ(Read(gated_count, 1), std::vector<uint32_t>{kBehindTheGate});
  EXPECT_EQ(Read(busy_count, 1), std::vector<uint32_t>{kBeforeTheKey});
  CU_EXPECT(cuStreamDestroy_v2(gated));
  CU_EXPECT(cuStreamDestroy_v2(busy));
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

// A thread that a full stream holds up holds up nobody else.
TEST_F(BacklogTest, AFullStreamHoldsUpOnlyTheThreadThatFillsIt) {
  CUstream gated, other;
  CU_ASSERT(cuStreamCreate(&gated, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUdeviceptr flag = Allocate(4), count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CU_ASSERT(cuMemsetD32_v2(count, 0, 1));
  CUfunction add_one = Function("add_one");
  void* spin[] = {&flag};
  CU_ASSERT(cuLaunchKernel(Function("spin"), 1, 1, 1, 1, 1, 1, 0, gated, spin, nullptr));
  constexpr uint32_t kLaunches = 20'000;
  std::atomic<uint32_t> launched{0};
  std::thread filler([&] {
    CU_ASSERT(cuCtxSetCurrent(context_));
    uint32_t n = 1;
    void* parameters[] = {&count, &n};
    for (uint32_t i = 0; i < kLaunches; ++i) {
      CU_ASSERT(cuLaunchKernel(add_one, 1, 1, 1, 1, 1, 1, 0, gated, parameters, nullptr));
      ++launched;
    }
  });
  // It is held up once this does not change any more; should it only be slow, the rest holds all the same.
  for (uint32_t seen = 0; launched < kLaunches && (seen == 0 || launched != seen);) {
    seen = launched;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(launched, kLaunches);
  CU_ASSERT(AddOne(flag, 1, other));
  filler.join();
  CU_ASSERT(cuStreamSynchronize(gated));
  EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{kLaunches});
  CU_EXPECT(cuStreamDestroy_v2(gated));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

// The one that is held back recording an event, too: others may ask about the event, and record it elsewhere.
TEST_F(BacklogTest, AnEventThatIsBeingRecordedInAFullStreamCanBeAskedAndRecordedInAnother) {
  CUstream gated, other;
  CUevent event;
  CU_ASSERT(cuStreamCreate(&gated, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuEventCreate(&event, 0));
  CUdeviceptr flag = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  void* spin[] = {&flag};
  CU_ASSERT(cuLaunchKernel(Function("spin"), 1, 1, 1, 1, 1, 1, 0, gated, spin, nullptr));
  constexpr uint32_t kRecords = 20'000;
  std::atomic<uint32_t> recorded{0};
  std::thread filler([&] {
    CU_ASSERT(cuCtxSetCurrent(context_));
    for (uint32_t i = 0; i < kRecords; ++i) {
      CU_ASSERT(cuEventRecord(event, gated));
      ++recorded;
    }
  });
  for (uint32_t seen = 0; recorded < kRecords && (seen == 0 || recorded != seen);) {
    seen = recorded;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(recorded, kRecords);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  CU_EXPECT(cuEventRecord(event, other));
  CU_EXPECT(cuEventSynchronize(event));
  CU_ASSERT(AddOne(flag, 1, other));
  filler.join();
  CU_EXPECT(cuEventSynchronize(event));
  EXPECT_EQ(cuStreamQuery(gated), CUDA_SUCCESS) << "recorded there last";
  CU_EXPECT(cuEventDestroy_v2(event));
  CU_EXPECT(cuStreamDestroy_v2(gated));
  CU_EXPECT(cuStreamDestroy_v2(other));
}

// And launching a graph: another launch of it, elsewhere, comes after those that got through.
TEST_F(BacklogTest, AGraphThatIsBeingLaunchedInAFullStreamCanBeLaunchedInAnother) {
  CUstream gated, other, key;
  for (CUstream* stream : {&gated, &other, &key}) CU_ASSERT(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr flag = Allocate(4);
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
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CU_ASSERT(cuCtxSynchronize());
  void* spin[] = {&flag};
  CU_ASSERT(cuLaunchKernel(Function("spin"), 1, 1, 1, 1, 1, 1, 0, gated, spin, nullptr));
  constexpr uint32_t kLaunches = 5'000;
  std::atomic<uint32_t> launched{0};
  std::thread filler([&] {
    CU_ASSERT(cuCtxSetCurrent(context_));
    for (uint32_t i = 0; i < kLaunches; ++i) {
      CU_ASSERT(cuGraphLaunch(exec, gated));
      ++launched;
    }
  });
  for (uint32_t seen = 0; launched < kLaunches && (seen == 0 || launched != seen);) {
    seen = launched;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(launched, kLaunches);
  CU_EXPECT(cuGraphLaunch(exec, other));
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  CU_ASSERT(AddOne(flag, 1, key));
  filler.join();
  for (CUstream stream : {other, gated}) CU_ASSERT(cuStreamSynchronize(stream));
  for (const CUdeviceptr count : counts) EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{kLaunches + 1});
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  for (CUstream stream : {gated, other, key}) CU_EXPECT(cuStreamDestroy_v2(stream));
}

}  // namespace
}  // namespace tutti::compat
