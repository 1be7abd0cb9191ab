#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr size_t kPiece = 2u << 20;

class VirtualMemoryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuMemAddressReserve(&range_, 8 * kPiece, 0, 0, 0));
  }
  void TearDown() override {
    CU_EXPECT(cuMemAddressFree(range_, 8 * kPiece));
    DriverTest::TearDown();
  }
  CUmemGenericAllocationHandle Create(size_t bytes = kPiece) {
    CUmemGenericAllocationHandle handle = 0;
    CU_EXPECT(cuMemCreate(&handle, bytes, &kOnDevice, 0));
    return handle;
  }
  void MapForUse(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
    CU_ASSERT(cuMemMap(address, kPiece, 0, handle, 0));
    const CUmemAccessDesc access{.location = kOnDevice.location, .flags = 3};
    CU_ASSERT(cuMemSetAccess(address, kPiece, &access, 1));
  }
  size_t Free() {
    size_t free = 0, total = 0;
    CU_EXPECT(cuCtxSynchronize());
    CU_EXPECT(cuMemGetInfo_v2(&free, &total));
    return free;
  }

  static constexpr CUmemAllocationProp kOnDevice{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                 .requestedHandleTypes = 0,
                                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                                 .win32HandleMetaData = nullptr,
                                                 .allocFlags = {}};
  CUdeviceptr range_ = 0;
};

TEST_F(VirtualMemoryTest, PiecesMappedSideBySideAreOneArray) {
  const auto first = Create(), second = Create();
  MapForUse(range_, first);
  MapForUse(range_ + kPiece, second);
  constexpr uint32_t kCount = 2 * kPiece / 4;
  CU_ASSERT(cuMemsetD32_v2(range_, 41, kCount));
  CU_ASSERT(AddOne(range_, kCount));
  EXPECT_EQ(Read(range_, kCount), std::vector<uint32_t>(kCount, 42));
  CU_EXPECT(cuMemUnmap(range_, 2 * kPiece));
  CU_EXPECT(cuMemRelease(first));
  CU_EXPECT(cuMemRelease(second));
}

TEST_F(VirtualMemoryTest, ACopyOfNothingSucceedsThereToo) {
  const auto piece = Create();
  MapForUse(range_, piece);
  const uint32_t host = 0;
  CU_EXPECT(cuMemcpyHtoD_v2(range_, &host, 0));
  CU_EXPECT(cuMemcpyHtoDAsync_v2(range_, &host, 0, nullptr));
  CU_EXPECT(cuMemcpyDtoDAsync_v2(range_ + 4, range_, 0, nullptr));
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  CU_EXPECT(cuMemRelease(piece));
}

TEST_F(VirtualMemoryTest, APieceKeepsItsBytesWhereverItIsMapped) {
  const auto piece = Create(), other = Create();
  MapForUse(range_, piece);
  CU_ASSERT(cuMemsetD32_v2(range_, 7, 1024));
  CU_ASSERT(cuMemUnmap(range_, kPiece));
  MapForUse(range_, other);  // takes the place in which the bytes still were
  EXPECT_EQ(Read(range_, 1024), std::vector<uint32_t>(1024, 0));
  MapForUse(range_ + 4 * kPiece, piece);
  EXPECT_EQ(Read(range_ + 4 * kPiece, 1024), std::vector<uint32_t>(1024, 7));
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  CU_EXPECT(cuMemUnmap(range_ + 4 * kPiece, kPiece));
  CU_EXPECT(cuMemRelease(piece));
  CU_EXPECT(cuMemRelease(other));
}

TEST_F(VirtualMemoryTest, MemoryCountsFromItsCreationAndAddressesNever) {
  const size_t before = Free();
  CUdeviceptr wide = 0;
  CU_ASSERT(cuMemAddressReserve(&wide, 512 * kPiece, 4 * kPiece, 0, 0));
  EXPECT_EQ(wide % (4 * kPiece), 0u);
  EXPECT_EQ(Free(), before);
  const auto piece = Create(4 * kPiece);
  EXPECT_EQ(Free(), before - 4 * kPiece);
  CU_EXPECT(cuMemRelease(piece));
  EXPECT_EQ(Free(), before);
  CU_EXPECT(cuMemAddressFree(wide, 512 * kPiece));
}

TEST_F(VirtualMemoryTest, AReleasedPieceLivesUntilItIsUnmapped) {
  const size_t before = Free();
  const auto piece = Create();
  MapForUse(range_, piece);
  CU_EXPECT(cuMemRelease(piece));
  CU_EXPECT(cuMemsetD8_v2(range_, 1, kPiece));
  CUmemGenericAllocationHandle again = 0;
  CU_ASSERT(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range_ + 100)));
  EXPECT_EQ(again, piece);
  CU_EXPECT(cuMemRelease(again));
  EXPECT_EQ(Free(), before - kPiece);
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  EXPECT_EQ(Free(), before);
  EXPECT_EQ(cuMemRelease(piece), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemoryTest, WithoutAccessNothingIsCopied) {
  const auto piece = Create();
  CU_ASSERT(cuMemMap(range_, kPiece, 0, piece, 0));
  EXPECT_EQ(cuMemsetD8_v2(range_, 1, 16), CUDA_ERROR_INVALID_VALUE);
  const CUmemAccessDesc access{.location = kOnDevice.location, .flags = 3};
  CU_ASSERT(cuMemSetAccess(range_, kPiece, &access, 1));
  CU_EXPECT(cuMemsetD8_v2(range_, 1, 16));
  unsigned long long flags = 0;
  CU_EXPECT(cuMemGetAccess(&flags, &kOnDevice.location, range_));
  EXPECT_EQ(flags, 3u);
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  EXPECT_EQ(cuMemsetD8_v2(range_, 1, 16), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemRelease(piece));
}

TEST_F(VirtualMemoryTest, APieceIsSeenAtAllItsMappings) {
  const auto piece = Create();
  MapForUse(range_, piece);
  MapForUse(range_ + 4 * kPiece, piece);
  CU_ASSERT(cuMemsetD32_v2(range_, 7, 1024));
  CU_ASSERT(AddOne(range_ + 4 * kPiece, 1024));
  EXPECT_EQ(Read(range_, 1024), std::vector<uint32_t>(1024, 8));
  CU_EXPECT(cuMemRelease(piece));
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  EXPECT_EQ(Read(range_ + 4 * kPiece, 1024), std::vector<uint32_t>(1024, 8)) << "the other mapping keeps it";
  CU_EXPECT(cuMemUnmap(range_ + 4 * kPiece, kPiece));
}

TEST_F(VirtualMemoryTest, AWishForAnAddressIsFollowedIfItIsFree) {
  CUdeviceptr far = 0, taken = 0;
  const CUdeviceptr wish = range_ + 512 * kPiece;
  CU_ASSERT(cuMemAddressReserve(&far, 2 * kPiece, 0, wish, 0));
  EXPECT_EQ(far, wish);
  CU_ASSERT(cuMemAddressReserve(&taken, kPiece, 0, wish + kPiece, 0));
  EXPECT_NE(taken, wish + kPiece);
  CU_EXPECT(cuMemAddressFree(far, 2 * kPiece));
  CU_EXPECT(cuMemAddressFree(taken, kPiece));
}

TEST_F(VirtualMemoryTest, KernelsAndHostCodeUseMemoryOfTheHostAtOneAddress) {
  for (const int type : {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA}) {
    CUmemAllocationProp on_host = kOnDevice;
    on_host.location.type = type;
    CUmemGenericAllocationHandle piece = 0;
    CU_ASSERT(cuMemCreate(&piece, kPiece, &on_host, 0));
    MapForUse(range_, piece);
    MapForUse(range_ + 2 * kPiece, piece);
    auto* const words = reinterpret_cast<uint32_t*>(range_);
    EXPECT_EQ(words[0], 0u);
    for (uint32_t i = 0; i < 1024; ++i) words[i] = i;
    CU_ASSERT(AddOne(range_ + 2 * kPiece, 1024));
    CU_ASSERT(cuCtxSynchronize());
    for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(words[i], i + 1);
    EXPECT_EQ(Read(range_, 3), (std::vector<uint32_t>{1, 2, 3}));
    CU_EXPECT(cuMemRelease(piece));
    CU_EXPECT(cuMemUnmap(range_, kPiece));
    EXPECT_EQ(reinterpret_cast<uint32_t*>(range_ + 2 * kPiece)[0], 1u) << "the other mapping keeps it";
    CU_EXPECT(cuMemUnmap(range_ + 2 * kPiece, kPiece));
  }
}

TEST_F(VirtualMemoryTest, HostCodeNeverReachesUnmappedMemoryOfTheHost) {
  CUmemAllocationProp on_host = kOnDevice;
  on_host.location.type = CU_MEM_LOCATION_TYPE_HOST;
  CUmemGenericAllocationHandle piece = 0;
  CU_ASSERT(cuMemCreate(&piece, kPiece, &on_host, 0));
  MapForUse(range_, piece);
  *reinterpret_cast<uint32_t*>(range_) = 1;
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  CU_EXPECT(cuMemRelease(piece));
  EXPECT_DEATH(*reinterpret_cast<volatile uint32_t*>(range_), "");
}

TEST_F(VirtualMemoryTest, MistakesAreRefused) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, kPiece + 1, &kOnDevice, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, size_t{1} << 60, &kOnDevice, 0), CUDA_ERROR_OUT_OF_MEMORY);
  const auto piece = Create(), other = Create();
  EXPECT_EQ(cuMemMap(range_, 2 * kPiece, 0, piece, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(range_ + 8 * kPiece, kPiece, 0, piece, 0), CUDA_ERROR_INVALID_VALUE);
  MapForUse(range_, piece);
  EXPECT_EQ(cuMemMap(range_, kPiece, 0, other, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(range_, 8 * kPiece), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(range_, kPiece / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(range_), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuMemUnmap(range_, kPiece));
  CU_EXPECT(cuMemRelease(piece));
  CU_EXPECT(cuMemRelease(other));
}

}  // namespace
}  // namespace tutti::compat
