// Tensor maps by the driver API: what it accepts, and what it refuses.
// tests/compat/programs/tensor_maps.cu copies by them.
#include <cstring>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

class TensorMaps : public DriverTest {
 protected:
  // Of halves, 64 x 32 in rows of 128 bytes, in boxes of 64 x 8.
  CUresult Encode() {
    return cuTensorMapEncodeTiled(&map, type, rank, address, sizes, strides, box, steps, interleave, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }
  CUresult EncodeIm2col() {
    return cuTensorMapEncodeIm2col(&map, type, rank, address, sizes, strides, lower, upper, channels, pixels, steps,
                                   interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }

  CUtensorMap map{};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  unsigned rank = 2;
  void* address = reinterpret_cast<void*>(0x1000);
  uint64_t sizes[5] = {64, 32, 8, 4, 2}, strides[4] = {128, 4096, 32768, 131072};
  uint32_t box[5] = {64, 8, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1};
  unsigned channels = 64, pixels = 32;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

TEST_F(TensorMaps, AreMadeOfOneToFiveDimensions) {
  for (rank = 1; rank <= 5; ++rank) EXPECT_EQ(Encode(), CUDA_SUCCESS) << rank;
  for (rank = 3; rank <= 5; ++rank) EXPECT_EQ(EncodeIm2col(), CUDA_SUCCESS) << rank;
  sizes[1] = uint64_t{1} << 32;
  rank = 2;
  EXPECT_EQ(Encode(), CUDA_SUCCESS);
  fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  EXPECT_EQ(Encode(), CUDA_SUCCESS);
}

TEST_F(TensorMaps, OfOtherDimensionsAreRefused) {
  for (const unsigned wrong : {0u, 6u, ~0u}) {
    rank = wrong;
    EXPECT_EQ(Encode(), CUDA_ERROR_INVALID_VALUE);
  }
  for (const unsigned wrong : {0u, 1u, 2u, 6u}) {
    rank = wrong;
    EXPECT_EQ(EncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(TensorMaps, WrongSizesStridesAndBoxesAreRefused) {
  const auto refused = [&](auto& place, auto value) {
    const auto before = place;
    place = value;
    EXPECT_EQ(Encode(), CUDA_ERROR_INVALID_VALUE);
    place = before;
    EXPECT_EQ(Encode(), CUDA_SUCCESS);
  };
  refused(address, reinterpret_cast<void*>(0x1008));
  refused(sizes[0], uint64_t{0});
  refused(sizes[1], (uint64_t{1} << 32) + 1);
  refused(strides[0], uint64_t{136});
  refused(strides[0], uint64_t{1} << 40);
  refused(box[0], 0u);
  refused(box[1], 257u);
  refused(box[0], 60u);  // no multiple of 16 bytes
  refused(box[0], 128u);  // wider than the swizzle
  refused(steps[1], 0u);
  refused(steps[1], 9u);
  refused(swizzle, static_cast<CUtensorMapSwizzle>(7));
  refused(swizzle, CU_TENSOR_MAP_SWIZZLE_64B);
  refused(interleave, CU_TENSOR_MAP_INTERLEAVE_16B);  // of two dimensions
  refused(type, static_cast<CUtensorMapDataType>(16));
}

TEST_F(TensorMaps, OnlyFloatsAreFilledWithNan) {
  type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  EXPECT_EQ(Encode(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMaps, CornersAreAsPreciseAsTheDimensionsAllow) {
  rank = 4;
  lower[0] = -129;
  EXPECT_EQ(EncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  rank = 3;
  EXPECT_EQ(EncodeIm2col(), CUDA_SUCCESS);
  lower[0] = 31;  // the box is empty
  EXPECT_EQ(EncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
  lower[0] = 0;
  pixels = 1025;
  EXPECT_EQ(EncodeIm2col(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMaps, WhatKernelsCannotUseIsSaid) {
  rank = 3;
  interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  EXPECT_EQ(Encode(), CUDA_ERROR_NOT_SUPPORTED);
  interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  EXPECT_EQ(Encode(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(TensorMaps, AddressesAreReplacedInMapsOnly) {
  ASSERT_EQ(Encode(), CUDA_SUCCESS);
  const CUtensorMap before = map;
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(0x2000)), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&before, &map, sizeof map), 0);
  address = reinterpret_cast<void*>(0x2000);
  CUtensorMap replaced = map;
  ASSERT_EQ(Encode(), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&replaced, &map, sizeof map), 0);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(0x2008)), CUDA_ERROR_INVALID_VALUE);
  CUtensorMap none{};
  EXPECT_EQ(cuTensorMapReplaceAddress(&none, address), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::compat
