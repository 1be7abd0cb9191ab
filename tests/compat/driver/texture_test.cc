// Texture and surface objects by the driver API, from PTX text: the tests that need no toolkit.
// tests/compat/programs/textures.cu has all filters, modes and formats.
#include <algorithm>
#include <bit>
#include <cstring>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// sample: out[t] = the texture's red at (t / 4, 0.5). swap: the surface's word t of row 0 goes to row 1, with 1 added.
constexpr const char* kSampling = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry sample(.param .u64 texture, .param .u64 out) {
  .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  mul.f32 %f0, %f0, 0f3E800000;
  mov.f32 %f1, 0f3F000000;
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}];
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.f32 [%rd1], %f2;
  ret;
}
.visible .entry swap(.param .u64 surface) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [surface];
  mov.u32 %r0, %tid.x;
  shl.b32 %r0, %r0, 2;
  mov.u32 %r1, 0;
  mov.u32 %r2, 1;
  suld.b.2d.b32.trap {%r3}, [%rd0, {%r0, %r1}];
  add.u32 %r3, %r3, 1;
  sust.b.2d.b32.trap [%rd0, {%r0, %r2}], {%r3};
  ret;
}
)";

constexpr unsigned kWidth = 8;

class TextureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&sampling_, kSampling));
  }
  void TearDown() override {
    CU_EXPECT(cuModuleUnload(sampling_));
    DriverTest::TearDown();
  }
  void Run(const char* kernel, unsigned threads, void** parameters) {
    CUfunction function = nullptr;
    CU_ASSERT(cuModuleGetFunction(&function, sampling_, kernel));
    CU_ASSERT(Launch(function, 1, threads, parameters));
    CU_ASSERT(cuCtxSynchronize());
  }
  // Rows of kWidth: 0, 10, 20, ..., 70 in the first.
  CUdeviceptr Rows() {
    const CUdeviceptr rows = Allocate(2 * kWidth * sizeof(float));
    for (unsigned i = 0; i < kWidth; ++i) {
      EXPECT_EQ(cuMemsetD32_v2(rows + i * sizeof(float), std::bit_cast<uint32_t>(10.0f * static_cast<float>(i)), 1),
                CUDA_SUCCESS);
    }
    return rows;
  }
  static CUDA_RESOURCE_DESC Pitched(CUdeviceptr rows) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {rows, CU_AD_FORMAT_FLOAT, 1, kWidth, 1, kWidth * sizeof(float)};
    return resource;
  }
  std::vector<float> Sampled(CUtexObject texture) {
    CUdeviceptr out = Allocate(4 * kWidth * sizeof(float));
    void* parameters[] = {&texture, &out};
    Run("sample", 4 * kWidth, parameters);
    const std::vector<uint32_t> words = Read(out, 4 * kWidth);
    CU_EXPECT(cuMemFree_v2(out));
    std::vector<float> values(words.size());
    std::memcpy(values.data(), words.data(), words.size() * sizeof(float));
    return values;
  }

  CUmodule sampling_ = nullptr;
};

TEST_F(TextureTest, TheNearestTexelOrTheMixtureOfTwoIsRead) {
  const CUdeviceptr rows = Rows();
  const CUDA_RESOURCE_DESC resource = Pitched(rows);
  CUDA_TEXTURE_DESC sampling{};
  for (int& mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject nearest = 0, mixed = 0;
  CU_ASSERT(cuTexObjectCreate(&nearest, &resource, &sampling, nullptr));
  sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
  CU_ASSERT(cuTexObjectCreate(&mixed, &resource, &sampling, nullptr));
  const std::vector<float> steps = Sampled(nearest), ramp = Sampled(mixed);
  for (unsigned t = 0; t < 4 * kWidth; ++t) {
    const unsigned texel = t / 4;
    EXPECT_EQ(steps[t], 10.0f * static_cast<float>(texel)) << t;
    EXPECT_EQ(ramp[t], std::min(std::max(2.5f * static_cast<float>(t) - 5, 0.0f), 70.0f)) << t;
  }
  CUDA_TEXTURE_DESC known{};
  CU_EXPECT(cuTexObjectGetTextureDesc(&known, mixed));
  EXPECT_EQ(known.filterMode, CU_TR_FILTER_MODE_LINEAR);
  CU_EXPECT(cuTexObjectDestroy(nearest));
  CU_EXPECT(cuTexObjectDestroy(mixed));
  CU_EXPECT(cuMemFree_v2(rows));
}

// Its memory ended with its context, and another array may lie there now.
TEST_F(TextureTest, AnArrayOfAContextThatHasEndedFreesNoOther) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUcontext context = nullptr;
  CUarray stale = nullptr, array = nullptr;
  CU_ASSERT(cuCtxCreate_v2(&context, 0, 0));
  CU_ASSERT(cuArray3DCreate_v2(&stale, &shape));
  CU_ASSERT(cuCtxDestroy_v2(context));
  CU_ASSERT(cuArray3DCreate_v2(&array, &shape));
  (void)cuArrayDestroy(stale);
  float texel = 1;
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = &texel;
  copy.WidthInBytes = sizeof texel;
  copy.Height = 1;
  CU_EXPECT(cuMemcpy2D_v2(&copy));
  EXPECT_EQ(texel, 0);
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(TextureTest, SurfacesAreReadAndWritten) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{kWidth, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
  CUDA_RESOURCE_DESC resource{};
  CU_ASSERT(cuArray3DCreate_v2(&resource.res.array.hArray, &shape));
  const uint32_t in[kWidth] = {5, 6, 7, 8, 9, 10, 11, 12};
  CU_ASSERT(cuMemcpyHtoA_v2(resource.res.array.hArray, 0, in, sizeof in));
  CUsurfObject surface = 0;
  CU_ASSERT(cuSurfObjectCreate(&surface, &resource));
  void* parameters[] = {&surface};
  Run("swap", kWidth, parameters);
  uint32_t out[kWidth] = {};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = resource.res.array.hArray;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out;
  copy.WidthInBytes = sizeof out;
  copy.Height = 1;
  CU_ASSERT(cuMemcpy2D_v2(&copy));
  for (unsigned i = 0; i < kWidth; ++i) EXPECT_EQ(out[i], in[i] + 1);
  CU_EXPECT(cuSurfObjectDestroy(surface));
  CU_EXPECT(cuArrayDestroy(resource.res.array.hArray));
}

TEST_F(TextureTest, WhatIsNoObjectOrNoDescriptionIsRefused) {
  const CUdeviceptr rows = Rows();
  CUDA_RESOURCE_DESC resource = Pitched(rows);
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectDestroy(rows), CUDA_ERROR_INVALID_VALUE);
  CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  EXPECT_EQ(cuSurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuTexObjectDestroy(texture));
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC known{};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&known, texture), CUDA_ERROR_INVALID_VALUE);
  resource.res.pitch2D.pitchInBytes = 4;  // less than a row
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_ERROR_INVALID_VALUE);
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_ERROR_INVALID_HANDLE);
  resource = {};
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_ERROR_INVALID_HANDLE);
  CU_EXPECT(cuMemFree_v2(rows));
}

}  // namespace
}  // namespace tutti::compat
