// The map and the words of a fence, in memory of this process in place of a GPU's.
#include "executor/fence.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "executor/launches.h"

namespace tutti::executor {
namespace {

using namespace cuda;

constexpr uint64_t kSlab = guest::kFenceSlabBytes;
constexpr uint64_t kBase = 64 * kSlab, kHost = 4 * kSlab, kDevice = 8 * kSlab;
constexpr uint64_t kDeviceBase = kBase + kHost;
constexpr uint8_t kWhole = guest::kFenceReadable | guest::kFenceWritable;

guest::FenceWords words;  // of the module

constexpr int kMostUrgent = -5;
int priority_of_streams = 0;
int allocations = 0, frees = 0;  // of the driver's memory

CUdeviceptr AddressOf(const void* bytes) { return reinterpret_cast<CUdeviceptr>(bytes); }

Vendor InThisProcess() {
  Vendor vendor;
  vendor.cuGetErrorName = [](CUresult, const char**) -> CUresult { return CUDA_ERROR_INVALID_VALUE; };
  vendor.cuCtxGetStreamPriorityRange = [](int* least, int* most) -> CUresult {
    *least = 0, *most = kMostUrgent;
    return CUDA_SUCCESS;
  };
  vendor.cuStreamCreateWithPriority = [](CUstream*, unsigned, int priority) -> CUresult {
    priority_of_streams = priority;
    return CUDA_SUCCESS;
  };
  vendor.cuStreamSynchronize = [](CUstream) -> CUresult { return CUDA_SUCCESS; };
  vendor.cuMemAlloc_v2 = [](CUdeviceptr* address, size_t bytes) -> CUresult {
    ++allocations;
    *address = AddressOf(new uint8_t[bytes]);
    return CUDA_SUCCESS;
  };
  vendor.cuMemFree_v2 = [](CUdeviceptr) -> CUresult {
    ++frees;
    return CUDA_SUCCESS;
  };
  vendor.cuMemHostAlloc = [](void** memory, size_t bytes, unsigned) -> CUresult {
    ++allocations;
    *memory = std::aligned_alloc(alignof(FenceMemory::Host), bytes);
    return CUDA_SUCCESS;
  };
  vendor.cuMemFreeHost = [](void* memory) -> CUresult {
    ++frees;
    std::free(memory);
    return CUDA_SUCCESS;
  };
  vendor.cuMemHostGetDevicePointer_v2 = [](CUdeviceptr* address, void* memory, unsigned) -> CUresult {
    *address = AddressOf(memory);
    return CUDA_SUCCESS;
  };
  vendor.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) -> CUresult {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  };
  vendor.cuModuleGetGlobal_v2 = [](CUdeviceptr* address, size_t* bytes, CUmodule, const char*) -> CUresult {
    *address = AddressOf(&words);
    *bytes = sizeof words;
    return CUDA_SUCCESS;
  };
  return vendor;
}

class FenceTest : public testing::Test {
 protected:
  FenceTest() {
    EXPECT_TRUE(fence_.Open(kBase, kHost, kDevice));
    EXPECT_TRUE(fence_.Enter(7, nullptr));
  }
  ~FenceTest() override { EXPECT_TRUE(fence_.Close()); }

  std::vector<uint8_t> Map() const {
    const auto* map = reinterpret_cast<const uint8_t*>(words.map);
    return {map, map + words.window_bytes / kSlab};
  }
  static guest::PrintFifo& prints() { return *reinterpret_cast<guest::PrintFifo*>(words.prints); }
  static guest::LaunchGates& gates() { return *reinterpret_cast<guest::LaunchGates*>(words.gates); }
  guest::FenceFault& record() { return *reinterpret_cast<guest::FenceFault*>(words.fault); }

  Vendor vendor_ = InThisProcess();
  FenceMemory memory_{vendor_};
  Fence fence_{vendor_, &memory_};
};

// A driver may wait for running kernels before it frees memory, and neighbours' may run for ever.
TEST_F(FenceTest, WhatOnePlaceGivesBackIsTheNextOnesAsNewAndNothingIsFreed) {
  allocations = frees = 0;
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase, kSlab, kWhole));
  record().state = 2;
  prints().ring[0] = 'x';
  prints().consumed = 8;
  gates().verdict = static_cast<uint64_t>(guest::LaunchVerdict::kEnd);
  gates().begun[3] = 6;
  *reinterpret_cast<uint64_t*>(words.printed) = 100;
  ASSERT_TRUE(fence_.Stop());
  const guest::FenceWords last = words;
  ASSERT_TRUE(fence_.Close());
  Fence next(vendor_, &memory_);
  ASSERT_TRUE(next.Open(kBase, kHost, kDevice));
  ASSERT_TRUE(next.Enter(7, nullptr));
  ASSERT_EQ(words.map, last.map) << "the same memory";
  EXPECT_EQ(allocations, 0);
  EXPECT_FALSE(next.Fault());
  EXPECT_EQ(record().state, 0u);
  EXPECT_FALSE(next.Allows(kDeviceBase, kSlab, false)) << "it has no memory yet, whatever the last one had";
  EXPECT_EQ(Map(), std::vector<uint8_t>((kHost + kDevice) / kSlab));
  EXPECT_EQ(words.run_bytes, 0u);
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(words.stop), 0u);
  EXPECT_EQ(gates().verdict, static_cast<uint64_t>(guest::LaunchVerdict::kGoOn));
  EXPECT_EQ(gates().begun[3], 0u);
  EXPECT_EQ(*reinterpret_cast<const uint64_t*>(words.printed), 0u);
  EXPECT_EQ(prints().ring[0], 0);
  EXPECT_EQ(prints().consumed, 0u);
  EXPECT_EQ(next.TakePrints().bytes, 0u);
  ASSERT_TRUE(next.Close());
  EXPECT_EQ(frees, 0);
}

TEST_F(FenceTest, WhatKernelsMayStillWriteIsNobodyElses) {
  const uint64_t last = words.map;
  ASSERT_TRUE(fence_.Close(false));
  Fence next(vendor_, &memory_);
  ASSERT_TRUE(next.Open(kBase, kHost, kDevice));
  ASSERT_TRUE(next.Enter(7, nullptr));
  EXPECT_NE(words.map, last);
  ASSERT_TRUE(next.Close());
}

TEST_F(FenceTest, ItsWordsGoBeforeWhatWaitsOfPrograms) { EXPECT_EQ(priority_of_streams, kMostUrgent); }

TEST_F(FenceTest, TheRunGrowsToTheFirstSlabWithoutMemory) {
  EXPECT_EQ(words.run_base, kDeviceBase);
  EXPECT_EQ(words.run_bytes, 0u);
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase + kSlab, kSlab, kWhole));
  EXPECT_EQ(words.run_bytes, 0u) << "there is a hole at its begin";
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase, kSlab, kWhole));
  EXPECT_EQ(words.run_bytes, 2 * kSlab);
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase + 2 * kSlab, kSlab, guest::kFenceReadable));
  EXPECT_EQ(words.run_bytes, 2 * kSlab) << "what cannot be written is not of it";
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase, kSlab, 0));
  EXPECT_EQ(words.run_bytes, 0u);
}

TEST_F(FenceTest, TheMapHasWhatIsMapped) {
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase + kSlab, 2 * kSlab, kWhole));
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase + 2 * kSlab, kSlab, guest::kFenceReadable));
  EXPECT_EQ(Map(), (std::vector<uint8_t>{0, 0, 0, 0, 0, kWhole, guest::kFenceReadable, 0, 0, 0, 0, 0}));
}

TEST_F(FenceTest, ASlabThatIsThereInPartIsNotInTheMap) {
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase - kSlab - kSlab / 2, kSlab + kSlab / 2, kWhole));
  EXPECT_EQ(Map(), (std::vector<uint8_t>{0, 0, 0, kWhole, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(FenceTest, CopiesTouchWhatIsMapped) {
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase, kSlab, kWhole));
  ASSERT_TRUE(fence_.SetMemory(kDeviceBase + kSlab, kSlab, guest::kFenceReadable));
  EXPECT_TRUE(fence_.Allows(kDeviceBase + 1, kSlab - 1, true));
  EXPECT_TRUE(fence_.Allows(kDeviceBase, 2 * kSlab, false));
  EXPECT_FALSE(fence_.Allows(kDeviceBase, kSlab + 1, true)) << "the last byte cannot be written";
  EXPECT_FALSE(fence_.Allows(kDeviceBase, 2 * kSlab + 1, false));
  EXPECT_TRUE(fence_.Allows(kBase, kHost, true)) << "the host part is memory of the process";
  EXPECT_FALSE(fence_.Allows(kBase, kHost + kDevice, false));
  EXPECT_FALSE(fence_.Allows(kBase - 1, 2, false));
  EXPECT_FALSE(fence_.Allows(kBase + kHost + kDevice - 1, 2, false));
  EXPECT_FALSE(fence_.Allows(kDeviceBase, ~0ull, false));
  EXPECT_TRUE(fence_.Allows(kBase - 8, 8, true)) << "in no window: a module's variable";
}

TEST_F(FenceTest, AFaultIsThereWhenItIsComplete) {
  EXPECT_FALSE(fence_.Fault());
  record().state = 1;
  record().kind = 700;
  record().module = static_cast<uint32_t>(words.module);
  EXPECT_FALSE(fence_.Fault());
  EXPECT_TRUE(fence_.IsFaulting());
  record().state = 2;
  ASSERT_TRUE(fence_.Fault());
  EXPECT_EQ(fence_.Fault()->kind, 700u);
  EXPECT_EQ(fence_.Fault()->module, 7u);
}

TEST_F(FenceTest, KernelsAreToldToEnd) {
  const auto& stop = *reinterpret_cast<const uint32_t*>(words.stop);
  EXPECT_EQ(stop, 0u);
  ASSERT_TRUE(fence_.Stop());
  EXPECT_NE(stop, 0u);
}

// --- what has not begun (executor/launches.h)

class LaunchesTest : public FenceTest {
 protected:
  static void Come(uint64_t number) { gates().begun[number % guest::kLaunchGates] = 2 * number; }
  static guest::LaunchVerdict verdict() { return static_cast<guest::LaunchVerdict>(gates().verdict); }

  Launches launches_{&fence_};
};

TEST_F(LaunchesTest, AreWithdrawnWhereNoneHasBegun) {
  const uint64_t done = launches_.Begin(), waits[] = {launches_.Begin(), launches_.Begin()};
  Come(done);
  launches_.End(done);
  EXPECT_EQ(launches_.HaveBegun(waits), false);
  EXPECT_EQ(verdict(), guest::LaunchVerdict::kGoOn) << "a look changes nothing";
  EXPECT_EQ(launches_.Withdraw(waits), true);
  EXPECT_EQ(verdict(), guest::LaunchVerdict::kEnd);
}

TEST_F(LaunchesTest, AllGoOnWhereOneHasBegun) {
  const uint64_t waits[] = {launches_.Begin(), launches_.Begin()};
  Come(waits[1]);
  EXPECT_EQ(launches_.HaveBegun(waits), true);
  EXPECT_EQ(launches_.Withdraw(waits), false);
  EXPECT_EQ(verdict(), guest::LaunchVerdict::kGoOn);
}

// The verdict is to wait as the marks are read: what comes afterwards sees that.
TEST_F(LaunchesTest, NoneBeginsWhileItIsLookedWhetherOneHas) {
  static guest::LaunchGates* of_test;
  static guest::LaunchVerdict seen;
  of_test = &gates();
  seen = verdict();
  vendor_.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) -> CUresult {
    if (from == AddressOf(of_test->begun)) seen = static_cast<guest::LaunchVerdict>(of_test->verdict);
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  };
  const uint64_t waits[] = {launches_.Begin()};
  EXPECT_EQ(launches_.Withdraw(waits), true);
  EXPECT_EQ(seen, guest::LaunchVerdict::kWait);
}

TEST_F(LaunchesTest, HaveNumbersUntilTooManyAreNotDone) {
  const uint64_t first = launches_.Begin();
  EXPECT_NE(first, 0u);
  for (uint32_t i = 1; i < guest::kLaunchGates; ++i) EXPECT_NE(launches_.Begin(), 0u);
  EXPECT_EQ(launches_.Begin(), 0u);
  launches_.End(first);
  const uint64_t next = launches_.Begin();
  EXPECT_NE(next, first);
  EXPECT_EQ(next % guest::kLaunchGates, first % guest::kLaunchGates);
}

}  // namespace
}  // namespace tutti::executor
