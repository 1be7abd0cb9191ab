#include <cstring>
#include <numeric>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using MemoryTest = DriverTest;

TEST_F(MemoryTest, WhatIsWrittenIsReadBack) {
  std::vector<uint32_t> in(100'000);
  std::iota(in.begin(), in.end(), 7u);
  const CUdeviceptr data = Allocate(in.size() * 4);
  CU_ASSERT(cuMemcpyHtoD_v2(data, in.data(), in.size() * 4));
  EXPECT_EQ(Read(data, in.size()), in);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(MemoryTest, FreeingTwiceOrInTheMiddleIsRefused) {
  const CUdeviceptr data = Allocate(1024);
  EXPECT_EQ(cuMemFree_v2(data + 256), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(data));
  EXPECT_EQ(cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(0));
}

TEST_F(MemoryTest, CopiesStayInTheirAllocation) {
  const CUdeviceptr data = Allocate(1024);
  char host[2048] = {};
  EXPECT_EQ(cuMemcpyHtoD_v2(data, host, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(host, data + 1000, 25), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(data, nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(host), host + 1024, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(data, host, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(data));
  EXPECT_EQ(cuMemcpyHtoD_v2(data, host, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, MoreThanTheDeviceHasIsOutOfMemory) {
  size_t free = 0, total = 0;
  CU_ASSERT(cuMemGetInfo_v2(&free, &total));
  EXPECT_LE(free, total);
  CUdeviceptr data = 0;
  EXPECT_EQ(cuMemAlloc_v2(&data, total * 2), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&data, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, MemsetsOfEveryWidth) {
  const CUdeviceptr data = Allocate(4096);
  CU_ASSERT(cuMemsetD8_v2(data, 0xab, 4096));
  EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 0xabababab));
  CU_ASSERT(cuMemsetD16_v2(data, 0x1234, 2048));
  EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 0x12341234));
  CU_ASSERT(cuMemsetD32_v2(data, 42, 1024));
  EXPECT_EQ(Read(data, 1024), std::vector<uint32_t>(1024, 42));
  EXPECT_EQ(cuMemsetD32_v2(data + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8_v2(data, 0, 4097), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(MemoryTest, ALargeAsynchronousMemsetIsInStreamOrder) {
  constexpr size_t kCount = 1 << 20;
  const CUdeviceptr data = Allocate(kCount * 4);
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuMemsetD32Async(data, 5, kCount, stream));
  CU_ASSERT(AddOne(data, kCount, stream));
  CU_ASSERT(cuStreamSynchronize(stream));
  EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 6));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(MemoryTest, PitchedRowsAreCopiedOneByOne) {
  CUdeviceptr data = 0;
  size_t pitch = 0;
  CU_ASSERT(cuMemAllocPitch_v2(&data, &pitch, 40, 5, 4));
  EXPECT_GE(pitch, 40u);
  std::vector<uint32_t> in(50);
  std::iota(in.begin(), in.end(), 0u);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = 40;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = data;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 40;
  copy.Height = 5;
  CU_ASSERT(cuMemcpy2D_v2(&copy));
  EXPECT_EQ(Read(data + 3 * pitch, 10), std::vector<uint32_t>(in.begin() + 30, in.begin() + 40));
  copy.Height = 6;
  EXPECT_EQ(cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(MemoryTest, ABoxIsCopiedThroughAnArray) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{8, 4, 2, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
  CUarray array = nullptr;
  CU_ASSERT(cuArray3DCreate_v2(&array, &shape));
  std::vector<uint32_t> in(64), out(64);
  std::iota(in.begin(), in.end(), 0u);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = 32;
  copy.srcHeight = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  copy.Depth = 2;
  CU_ASSERT(cuMemcpy3D_v2(&copy));
  CUDA_MEMCPY3D back{};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out.data();
  back.dstPitch = 32;
  back.dstHeight = 4;
  back.WidthInBytes = 32;
  back.Height = 4;
  back.Depth = 2;
  CU_ASSERT(cuMemcpy3D_v2(&back));
  EXPECT_EQ(out, in);
  back.srcZ = 1;
  EXPECT_EQ(cuMemcpy3D_v2(&back), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuArrayDestroy(array));
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(MemoryTest, PinnedAndManagedMemoryAreTheSameOnBothSides) {
  uint32_t* pinned = nullptr;
  CU_ASSERT(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 400, CU_MEMHOSTALLOC_DEVICEMAP));
  std::iota(pinned, pinned + 100, 0u);
  CUdeviceptr device = 0;
  CU_ASSERT(cuMemHostGetDevicePointer_v2(&device, pinned, 0));
  CU_ASSERT(AddOne(device, 100));
  CU_ASSERT(cuCtxSynchronize());
  EXPECT_EQ(pinned[99], 100u);
  CU_EXPECT(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);

  CUdeviceptr managed = 0;
  CU_ASSERT(cuMemAllocManaged(&managed, 400, CU_MEM_ATTACH_GLOBAL));
  auto* const words = reinterpret_cast<uint32_t*>(managed);
  std::iota(words, words + 100, 0u);
  CU_ASSERT(AddOne(managed, 100));
  CU_ASSERT(cuCtxSynchronize());
  EXPECT_EQ(words[42], 43u);
  CU_EXPECT(cuMemFree_v2(managed));
}

TEST_F(MemoryTest, APageableCopyMayBeOverwrittenAtOnce) {
  constexpr size_t kCount = 1 << 16;
  const CUdeviceptr flag = Allocate(4), data = Allocate(kCount * 4);
  CU_ASSERT(cuMemsetD32_v2(flag, 0, 1));
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void* parameters[] = {const_cast<CUdeviceptr*>(&flag)};
  CU_ASSERT(Launch(Function("spin"), 1, 1, parameters, stream));
  std::vector<uint32_t> in(kCount, 3);
  CU_ASSERT(cuMemcpyHtoDAsync_v2(data, in.data(), kCount * 4, stream));
  in.assign(kCount, 99);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  CUstream other;
  CU_ASSERT(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CU_ASSERT(cuStreamWriteValue32_v2(other, flag, 1, 0));
  CU_ASSERT(cuStreamSynchronize(stream));
  EXPECT_EQ(Read(data, kCount), std::vector<uint32_t>(kCount, 3));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  CU_EXPECT(cuStreamDestroy_v2(other));
  CU_EXPECT(cuMemFree_v2(data));
  CU_EXPECT(cuMemFree_v2(flag));
}

TEST_F(MemoryTest, PointersTellWhatTheyAre) {
  const CUdeviceptr data = Allocate(1000);
  unsigned type = 0;
  CUcontext context = nullptr;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  int ordinal = -1;
  CU_EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data + 10));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  CU_EXPECT(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, data));
  EXPECT_EQ(context, context_);
  CU_EXPECT(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data));
  EXPECT_EQ(ordinal, 0);
  CU_EXPECT(cuMemGetAddressRange_v2(&base, &bytes, data + 999));
  EXPECT_EQ(base, data);
  EXPECT_EQ(bytes, 1000u);
  int local = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&local)),
            CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(MemoryTest, StreamOrderedMemoryIsAllocatedAndFreed) {
  CUdeviceptr data = 0;
  CU_ASSERT(cuMemAllocAsync(&data, 4000, nullptr));
  CU_ASSERT(cuMemsetD32Async(data, 1, 1000, nullptr));
  CU_ASSERT(AddOne(data, 1000));
  EXPECT_EQ(Read(data, 1000), std::vector<uint32_t>(1000, 2));
  CU_ASSERT(cuMemFreeAsync(data, nullptr));
  EXPECT_EQ(cuMemFreeAsync(data, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUmemoryPool pool = nullptr;
  uint64_t used = 1;
  CU_ASSERT(cuDeviceGetDefaultMemPool(&pool, 0));
  CU_ASSERT(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
}

// Asking waits for no work, and what was freed is free although a kernel that might use it still runs.
TEST_F(MemoryTest, FreedMemoryIsFreeBesideAKernelThatRuns) {
  void* flag = nullptr;
  CU_ASSERT(cuMemHostAlloc(&flag, 4, 0));
  *static_cast<volatile uint32_t*>(flag) = 0;
  CUstream stream;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUfunction spin = Function("spin");
  const CUdeviceptr data = Allocate(64 << 20);
  size_t before = 0, after = 0, total = 0;
  CU_ASSERT(cuMemGetInfo_v2(&before, &total));
  void* parameters[] = {&flag};
  CU_ASSERT(Launch(spin, 1, 1, parameters, stream));
  CU_ASSERT(cuMemFree_v2(data));
  CU_ASSERT(cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(after, before + (64 << 20));
  *static_cast<volatile uint32_t*>(flag) = 1;
  CU_ASSERT(cuStreamSynchronize(stream));
  CU_ASSERT(cuMemGetInfo_v2(&after, &total));
  EXPECT_GE(after, before + (64 << 20));  // what waited for work of the test before may be free now, too
  CU_EXPECT(cuStreamDestroy_v2(stream));
  CU_EXPECT(cuMemFreeHost(flag));
}

TEST_F(MemoryTest, MemoryOfAPoolIsCountedHoweverItIsFreed) {
  const CUmemPoolProps properties{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                  .maxSize = 1 << 20};
  CUmemoryPool pool;
  CU_ASSERT(cuMemPoolCreate(&pool, &properties));
  uint64_t used = 0;
  for (int i = 0; i < 4; ++i) {
    CUdeviceptr data = 0;
    CU_ASSERT(cuMemAllocFromPoolAsync(&data, 1 << 19, pool, nullptr));
    CU_ASSERT(cuMemFree_v2(data));
    CU_EXPECT(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT_EQ(used, 0u);
  }
  CUcontext created;
  CU_ASSERT(cuCtxCreate_v2(&created, 0, 0));
  CUdeviceptr lost = 0;
  CU_ASSERT(cuMemAllocFromPoolAsync(&lost, 1 << 19, pool, nullptr));
  CU_ASSERT(cuCtxDestroy_v2(created));
  CU_EXPECT(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(used, 0u);
  CU_EXPECT(cuMemPoolDestroy(pool));
}

TEST_F(MemoryTest, FreeingNothingInStreamOrderSucceeds) { CU_EXPECT(cuMemFreeAsync(0, nullptr)); }

}  // namespace
}  // namespace tutti::compat
