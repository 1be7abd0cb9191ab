// Limits of contexts and of the process, on a device of eight SMs and with a memory limit of 64 MiB. The environment is
// set before cuInit, and between contexts: that is when it is read.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr size_t kLimit = 64u << 20;

class LimitsTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    setenv("CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING", "1", 1);
    setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=64M", 1);
    DriverTest::SetUpTestSuite();
  }
  void TearDown() override {
    unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    DriverTest::TearDown();
  }
  static int Sms() {
    int sms = 0;
    CU_EXPECT(cuDeviceGetAttribute(&sms, 16, 0));
    return sms;
  }
  // The multiprocessor count in a new context; the context ends.
  static int SmsWith(const char* percentage) {
    setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percentage, 1);
    CUcontext context = nullptr;
    CU_EXPECT(cuCtxCreate_v2(&context, 0, 0));
    const int sms = Sms();
    CU_EXPECT(cuCtxDestroy_v2(context));
    return sms;
  }
  static size_t Free() {
    size_t free = 0, total = 0;
    CU_EXPECT(cuMemGetInfo_v2(&free, &total));
    return free;
  }
};

TEST_F(LimitsTest, AContextsPercentageIsReadWhenItIsCreatedAndRoundedDown) {
  EXPECT_EQ(Sms(), 8);
  EXPECT_EQ(SmsWith("50"), 4);
  EXPECT_EQ(SmsWith("30"), 2);
  EXPECT_EQ(SmsWith("99.9"), 7);
  EXPECT_EQ(SmsWith("1"), 1);
  EXPECT_EQ(Sms(), 8);  // of the primary context, which is current again
}

TEST_F(LimitsTest, AnUnreadablePercentageCountsAsNone) {
  for (const char* text : {"0", "-5", "101", "banana", "nan"}) EXPECT_EQ(SmsWith(text), 8) << text;
}

TEST_F(LimitsTest, ExecutionAffinityIsACountOfSms) {
  int supported = 0;
  CU_ASSERT(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EXPECT_EQ(supported, 1);
  CUexecAffinityParam asked[] = {{CU_EXEC_AFFINITY_TYPE_SM_COUNT, 7}, {CU_EXEC_AFFINITY_TYPE_SM_COUNT, 3}};
  CUcontext context = nullptr;
  CU_ASSERT(cuCtxCreate_v3(&context, asked, 2, 0, 0));
  CUexecAffinityParam got{};
  CU_EXPECT(cuCtxGetExecAffinity(&got, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  EXPECT_EQ(got.sm_count, 3u);  // the last one holds
  EXPECT_EQ(Sms(), 3);
  const CUdeviceptr data = Allocate(4096);
  CU_EXPECT(cuMemsetD32_v2(data, 1, 1024));
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CU_ASSERT(cuModuleLoadData(&module, kPtx));
  CU_ASSERT(cuModuleGetFunction(&function, module, "add_one"));
  uint32_t count = 1024;
  void* parameters[] = {const_cast<CUdeviceptr*>(&data), &count};
  CU_EXPECT(Launch(function, 8, 128, parameters));
  EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 2));
  CU_EXPECT(cuCtxDestroy_v2(context));
  asked[0].type = 7;
  EXPECT_EQ(cuCtxCreate_v3(&context, asked, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  CUctxCreateParams parameters_v4{.execAffinityParams = asked + 1, .numExecAffinityParams = 1, .cigParams = nullptr};
  CU_ASSERT(cuCtxCreate_v4(&context, &parameters_v4, 0, 0));
  EXPECT_EQ(Sms(), 3);
  CU_EXPECT(cuCtxDestroy_v2(context));
}

TEST_F(LimitsTest, GreenContextsShareTheSmsAndTheCode) {
  CUdevResource whole, parts[2], rest;
  CU_ASSERT(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(whole.sm.smCount, 8u);
  unsigned count = 2;
  CU_ASSERT(cuDevSmResourceSplitByCount(parts, &count, &whole, &rest, 0, 3));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(parts[1].sm.smCount, 3u);
  EXPECT_EQ(rest.sm.smCount, 2u);
  CUdevResourceDesc description = nullptr;
  CU_ASSERT(cuDevResourceGenerateDesc(&description, parts, 2));
  CUgreenCtx green = nullptr;
  CU_ASSERT(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUdevResource got;
  CU_ASSERT(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(got.sm.smCount, 6u);

  CUstream stream = nullptr;
  CU_ASSERT(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  CUgreenCtx of_stream = nullptr;
  CU_EXPECT(cuStreamGetGreenCtx(stream, &of_stream));
  EXPECT_EQ(of_stream, green);
  const CUdeviceptr data = Allocate(4096);
  CU_ASSERT(cuMemsetD32_v2(data, 1, 1024));
  CU_EXPECT(AddOne(data, 1024, stream));  // a function of the primary context
  CU_EXPECT(cuStreamSynchronize(stream));
  EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 2));

  CUcontext context = nullptr;
  CU_ASSERT(cuCtxFromGreenCtx(&context, green));
  CU_ASSERT(cuCtxPushCurrent_v2(context));
  EXPECT_EQ(Sms(), 6);
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
  CU_EXPECT(cuCtxPopCurrent_v2(nullptr));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  CU_EXPECT(cuGreenCtxDestroy(green));
  EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(LimitsTest, ResourcesThatNobodyMadeAreRefused) {
  CUdevResource made_up{.type = CU_DEV_RESOURCE_TYPE_SM,
                        .ours = {},
                        .sm = {.smCount = 4, .minSmPartitionSize = 1, .smCoscheduledAlignment = 1}};
  CUdevResourceDesc description = nullptr;
  EXPECT_EQ(cuDevResourceGenerateDesc(&description, &made_up, 1), CUDA_ERROR_INVALID_VALUE);
  CUdevResource whole;
  CU_ASSERT(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
  unsigned count = 1;
  CUdevResource part;
  EXPECT_EQ(cuDevSmResourceSplitByCount(&part, &count, &whole, nullptr, 0, 9),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  EXPECT_EQ(cuDeviceGetDevResource(0, &whole, 9), CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_F(LimitsTest, EveryAllocatorCounts) {
  size_t free = 0, total = 0;
  CU_ASSERT(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(total, kLimit);
  EXPECT_LE(free, kLimit);
  constexpr size_t kPiece = 4u << 20;
  const size_t before = Free();

  const CUdeviceptr plain = Allocate(kPiece);
  EXPECT_EQ(Free(), before - kPiece) << "cuMemAlloc";
  CUdeviceptr pitched = 0;
  size_t pitch = 0;
  CU_ASSERT(cuMemAllocPitch_v2(&pitched, &pitch, 4096, 1024, 4));
  EXPECT_EQ(Free(), before - 2 * kPiece) << "cuMemAllocPitch";
  CUdeviceptr ordered = 0;
  CU_ASSERT(cuMemAllocAsync(&ordered, kPiece, nullptr));
  EXPECT_EQ(Free(), before - 3 * kPiece) << "cuMemAllocAsync";
  CUdeviceptr managed = 0;
  CU_ASSERT(cuMemAllocManaged(&managed, kPiece, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(Free(), before - 4 * kPiece) << "cuMemAllocManaged";
  const CUmemAllocationProp on_device{.type = 1,
                                      .requestedHandleTypes = 0,
                                      .location = {.type = 1, .id = 0},
                                      .win32HandleMetaData = nullptr,
                                      .allocFlags = {}};
  CUmemGenericAllocationHandle physical = 0;
  CU_ASSERT(cuMemCreate(&physical, kPiece, &on_device, 0));
  EXPECT_EQ(Free(), before - 5 * kPiece) << "cuMemCreate";
  CUmodule module = nullptr;
  CU_ASSERT(cuModuleLoadData(
      &module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 table[4194304];\n"));
  EXPECT_LE(Free(), before - 6 * kPiece) << "globals of modules";
  const size_t before_host = Free();
  void* host = nullptr;
  CU_ASSERT(cuMemAllocHost_v2(&host, kPiece));
  EXPECT_EQ(Free(), before_host) << "pinned host memory is not of the device";

  CU_EXPECT(cuMemFreeHost(host));
  CU_EXPECT(cuModuleUnload(module));
  CU_EXPECT(cuMemRelease(physical));
  CU_EXPECT(cuMemFree_v2(managed));
  CU_EXPECT(cuMemFreeAsync(ordered, nullptr));
  CU_EXPECT(cuMemFree_v2(pitched));
  CU_EXPECT(cuMemFree_v2(plain));
  EXPECT_EQ(Free(), before);
}

TEST_F(LimitsTest, NoByteAboveTheLimitAndNoRefusalBelowIt) {
  const size_t room = Free();
  CUdeviceptr all = 0;
  CU_ASSERT(cuMemAlloc_v2(&all, room));
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc_v2(&more, 512), CUDA_ERROR_OUT_OF_MEMORY);
  CU_ASSERT(cuMemFree_v2(all));
  CU_ASSERT(cuMemAlloc_v2(&all, room));
  CU_ASSERT(cuMemFree_v2(all));
}

// 64 threads ask for more than there is, in pieces: exactly what fits is granted, to whomever.
TEST_F(LimitsTest, TheLimitHoldsUnderRacingThreads) {
  constexpr size_t kPiece = 1u << 20;
  const size_t pieces = Free() / kPiece;
  std::atomic<size_t> granted{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  std::vector<CUdeviceptr> got(64 * 4);
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      cuCtxSetCurrent(context_);
      while (!go) std::this_thread::yield();
      for (int i = 0; i < 4; ++i) {
        if (cuMemAlloc_v2(&got[t * 4 + i], kPiece) == CUDA_SUCCESS) ++granted;
      }
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted.load(), pieces);
  EXPECT_LT(Free(), kPiece);
  for (const CUdeviceptr address : got) {
    if (address == 0) continue;
    CU_EXPECT(cuMemFree_v2(address));
  }
}

// Of this server's clients each has the code of six kernels in memory (TUTTI_CPU_LOADED_KERNELS).
TEST_F(LimitsTest, MoreKernelsThanMayBeInMemoryRunInTurnAndInGraphs) {
  constexpr unsigned kShapes = 20, kRounds = 3;
  const CUdeviceptr count = Allocate(4);
  CU_ASSERT(cuMemsetD32_v2(count, 0, 1));
  const auto launch_all = [&](CUstream stream) {
    for (unsigned threads = 1; threads <= kShapes; ++threads) {
      CUdeviceptr data = count;
      uint32_t n = 1;
      void* parameters[] = {&data, &n};
      CU_ASSERT(cuLaunchKernel(Function("add_one"), 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr));
    }
  };
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (unsigned round = 0; round < kRounds; ++round) launch_all(stream);
  CUgraph graph;
  CUgraphExec exec;
  CU_ASSERT(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  launch_all(stream);
  CU_ASSERT(cuStreamEndCapture(stream, &graph));
  CU_ASSERT(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (unsigned round = 0; round < kRounds; ++round) CU_ASSERT(cuGraphLaunch(exec, stream));
  CU_ASSERT(cuStreamSynchronize(stream));
  EXPECT_EQ(Read(count, 1), std::vector<uint32_t>{2 * kRounds * kShapes});
  CU_EXPECT(cuGraphExecDestroy(exec));
  CU_EXPECT(cuGraphDestroy(graph));
  CU_EXPECT(cuStreamDestroy_v2(stream));
}

}  // namespace
}  // namespace tutti::compat
