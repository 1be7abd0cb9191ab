// Mipmapped arrays by the driver API, from PTX text. tests/compat/programs/mipmaps.cu has all geometries and filters.
#include <algorithm>
#include <bit>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// level: out[t] = the texture's red at (0.5, 0.5) of level t / 4. change: where two gradients of t / 4 texels of the
// first level ask for it.
constexpr const char* kLevels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry level(.param .u64 texture, .param .u64 out) {
  .reg .b32 %r<2>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mul.f32 %f0, %f0, 0f3E800000;
  mov.f32 %f1, 0f3F000000;
  tex.level.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f1, %f1}], %f0;
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.f32 [%rd1], %f2;
  ret;
}
.visible .entry change(.param .u64 texture, .param .u64 out) {
  .reg .b32 %r<2>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mul.f32 %f0, %f0, 0f3D000000;
  mov.f32 %f1, 0f3F000000;
  mov.f32 %f6, 0f00000000;
  tex.grad.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f1, %f1}], {%f0, %f6}, {%f6, %f6};
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.f32 [%rd1], %f2;
  ret;
}
)";

constexpr unsigned kSize = 8, kLevelCount = 4, kThreads = 20;

class MipmapTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&module_, kLevels));
    const CUDA_ARRAY3D_DESCRIPTOR shape{kSize, kSize, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CU_ASSERT(cuMipmappedArrayCreate(&resource_.res.mipmap.hMipmappedArray, &shape, 99));
    resource_.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    for (unsigned level = 0; level < kLevelCount; ++level) FillLevel(level, 100.0f * static_cast<float>(level));
    for (int& mode : sampling_.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    sampling_.flags = CU_TRSF_NORMALIZED_COORDINATES;
    sampling_.maxMipmapLevelClamp = 100;
  }
  void TearDown() override {
    CU_EXPECT(cuMipmappedArrayDestroy(array()));
    CU_EXPECT(cuModuleUnload(module_));
    DriverTest::TearDown();
  }

  CUmipmappedArray array() const { return resource_.res.mipmap.hMipmappedArray; }

  void FillLevel(unsigned level, float value) {
    CUarray each = nullptr;
    CU_ASSERT(cuMipmappedArrayGetLevel(&each, array(), level));
    const unsigned size = kSize >> level;
    const std::vector<float> texels(size * size, value);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = each;
    copy.WidthInBytes = size * sizeof(float);
    copy.Height = size;
    CU_ASSERT(cuMemcpy2D_v2(&copy));
  }

  std::vector<float> Sampled(const char* kernel) {
    CUtexObject texture = 0;
    CU_EXPECT(cuTexObjectCreate(&texture, &resource_, &sampling_, nullptr));
    CUdeviceptr out = Allocate(kThreads * sizeof(float));
    CUfunction function = nullptr;
    CU_EXPECT(cuModuleGetFunction(&function, module_, kernel));
    void* parameters[] = {&texture, &out};
    CU_EXPECT(Launch(function, 1, kThreads, parameters));
    std::vector<float> values;
    for (const uint32_t word : Read(out, kThreads)) values.push_back(std::bit_cast<float>(word));
    CU_EXPECT(cuMemFree_v2(out));
    CU_EXPECT(cuTexObjectDestroy(texture));
    return values;
  }

  CUDA_RESOURCE_DESC resource_{};
  CUDA_TEXTURE_DESC sampling_{};

 private:
  CUmodule module_ = nullptr;
};

TEST_F(MipmapTest, TheNearestLevelIsRead) {
  const std::vector<float> values = Sampled("level");
  for (unsigned t = 0; t < kThreads; ++t) {
    if (t % 4 == 2) continue;  // midway
    EXPECT_EQ(values[t], 100.0f * static_cast<float>(std::min((t + 2) / 4, kLevelCount - 1))) << t;
  }
}

TEST_F(MipmapTest, OrTheMixtureOfTwo) {
  sampling_.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  const std::vector<float> values = Sampled("level");
  for (unsigned t = 0; t < kThreads; ++t) EXPECT_EQ(values[t], std::min(25.0f * static_cast<float>(t), 300.0f)) << t;
}

TEST_F(MipmapTest, ABiasIsAddedWithinTheLimits) {
  sampling_.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  sampling_.mipmapLevelBias = -1;
  sampling_.minMipmapLevelClamp = 0.5f;
  sampling_.maxMipmapLevelClamp = 2.25f;
  const std::vector<float> values = Sampled("level");
  for (unsigned t = 0; t < kThreads; ++t)
    EXPECT_EQ(values[t], std::min(std::max(25.0f * static_cast<float>(t) - 100, 50.0f), 225.0f)) << t;
}

TEST_F(MipmapTest, AGradientOfTwiceAsManyTexelsAsksForTheNextLevel) {
  sampling_.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  const std::vector<float> values = Sampled("change");
  EXPECT_EQ(values[0], 0.0f);
  EXPECT_EQ(values[4], 0.0f);
  EXPECT_NEAR(values[6], 58.4963f, 0.25f);  // log2(1.5)
  EXPECT_EQ(values[8], 100.0f);
  EXPECT_EQ(values[16], 200.0f);
}

TEST_F(MipmapTest, LevelsAreArraysThatEndWithTheirOwn) {
  CUarray level = nullptr;
  CU_ASSERT(cuMipmappedArrayGetLevel(&level, array(), 2));
  CUDA_ARRAY_DESCRIPTOR shape{};
  CU_EXPECT(cuArrayGetDescriptor_v2(&shape, level));
  EXPECT_EQ(shape.Width, kSize / 4);
  EXPECT_EQ(shape.Height, kSize / 4);
  EXPECT_EQ(cuArrayDestroy(level), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, array(), kLevelCount), CUDA_ERROR_INVALID_VALUE);
  const CUDA_ARRAY3D_DESCRIPTOR other{1, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray gone = nullptr;
  CU_ASSERT(cuMipmappedArrayCreate(&gone, &other, 1));
  CU_ASSERT(cuMipmappedArrayGetLevel(&level, gone, 0));
  CU_EXPECT(cuMipmappedArrayDestroy(gone));
  EXPECT_EQ(cuMipmappedArrayDestroy(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayGetDescriptor_v2(&shape, level), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(MipmapTest, TexturesAreOfALevelAlone) {
  const CUDA_RESOURCE_DESC whole = resource_;
  CUarray level = nullptr;
  CU_ASSERT(cuMipmappedArrayGetLevel(&level, array(), 2));
  resource_ = {};
  resource_.resType = CU_RESOURCE_TYPE_ARRAY;
  resource_.res.array.hArray = level;
  const std::vector<float> values = Sampled("level");
  resource_ = whole;
  EXPECT_EQ(values, std::vector<float>(kThreads, 200.0f));
}

TEST_F(MipmapTest, ATextureOfLevelsNeedsNormalizedCoordinates) {
  sampling_.flags = 0;
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource_, &sampling_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MipmapTest, ShapesWithoutLevelsAreRefused) {
  CUmipmappedArray none = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape{32769, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  EXPECT_EQ(cuMipmappedArrayCreate(&none, &shape, 2), CUDA_ERROR_INVALID_VALUE);
  shape.Width = 0;
  EXPECT_EQ(cuMipmappedArrayCreate(&none, &shape, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMipmappedArrayCreate(&none, nullptr, 2), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace tutti::compat
