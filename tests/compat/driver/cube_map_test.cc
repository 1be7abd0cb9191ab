// Cube maps by the driver API, from PTX text. tests/compat/programs/cube_maps.cu has all forms and filters.
#include <bit>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// Each thread takes a direction, { x, y, z }, and stores what the cube is there. of_layer: the second cube's.
constexpr const char* kCubes = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry of_cube(.param .u64 texture, .param .u64 directions, .param .u64 out) {
  .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [directions];
  ld.param.u64 %rd2, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %rd1, %r0, 12, %rd1;
  mad.wide.u32 %rd2, %r0, 4, %rd2;
  ld.global.f32 %f0, [%rd1];
  ld.global.f32 %f1, [%rd1+4];
  ld.global.f32 %f2, [%rd1+8];
  tex.cube.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd0, {%f0, %f1, %f2, %f2}];
  st.global.f32 [%rd2], %f3;
  ret;
}
.visible .entry of_layer(.param .u64 texture, .param .u64 directions, .param .u64 out) {
  .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [directions];
  ld.param.u64 %rd2, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, 1;
  mad.wide.u32 %rd1, %r0, 12, %rd1;
  mad.wide.u32 %rd2, %r0, 4, %rd2;
  ld.global.f32 %f0, [%rd1];
  ld.global.f32 %f1, [%rd1+4];
  ld.global.f32 %f2, [%rd1+8];
  tex.acube.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd0, {%r1, %f0, %f1, %f2}];
  st.global.f32 [%rd2], %f3;
  ret;
}
)";

constexpr unsigned kSize = 2;

struct Direction {
  float x, y, z;
};

class CubeMapTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&module_, kCubes));
    for (int& mode : sampling_.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    sampling_.flags = CU_TRSF_NORMALIZED_COORDINATES;
  }
  void TearDown() override {
    CU_EXPECT(cuModuleUnload(module_));
    DriverTest::TearDown();
  }

  // Texels are 10 * plane + 2 * row + column.
  std::vector<float> Sampled(const char* kernel, unsigned planes, const std::vector<Direction>& directions) {
    const unsigned flags = CUDA_ARRAY3D_CUBEMAP | (planes > 6 ? unsigned{CUDA_ARRAY3D_LAYERED} : 0u);
    const CUDA_ARRAY3D_DESCRIPTOR shape{kSize, kSize, planes, CU_AD_FORMAT_FLOAT, 1, flags};
    CUDA_RESOURCE_DESC resource{};
    CU_EXPECT(cuArray3DCreate_v2(&resource.res.array.hArray, &shape));
    std::vector<float> texels;
    for (unsigned plane = 0; plane < planes; ++plane) {
      for (unsigned i = 0; i < 4; ++i) texels.push_back(static_cast<float>(10 * plane + i));
    }
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes = kSize * sizeof(float);
    copy.srcHeight = copy.Height = kSize;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = resource.res.array.hArray;
    copy.Depth = planes;
    CU_EXPECT(cuMemcpy3D_v2(&copy));
    CUtexObject texture = 0;
    CU_EXPECT(cuTexObjectCreate(&texture, &resource, &sampling_, nullptr));
    const size_t bytes = directions.size() * sizeof(Direction);
    CUdeviceptr in = Allocate(bytes), out = Allocate(bytes);
    CU_EXPECT(cuMemcpyHtoD_v2(in, directions.data(), bytes));
    CUfunction function = nullptr;
    CU_EXPECT(cuModuleGetFunction(&function, module_, kernel));
    void* parameters[] = {&texture, &in, &out};
    CU_EXPECT(Launch(function, 1, static_cast<unsigned>(directions.size()), parameters));
    std::vector<float> values;
    for (const uint32_t word : Read(out, directions.size())) values.push_back(std::bit_cast<float>(word));
    CU_EXPECT(cuMemFree_v2(in));
    CU_EXPECT(cuMemFree_v2(out));
    CU_EXPECT(cuTexObjectDestroy(texture));
    CU_EXPECT(cuArrayDestroy(resource.res.array.hArray));
    return values;
  }

  CUDA_TEXTURE_DESC sampling_{};

 private:
  CUmodule module_ = nullptr;
};

// By the table of the programming guide; the longest axis chooses the face, the other two the place.
const std::vector<Direction> kAround = {{3, 1, 1},  {-3, 1, 1}, {1, 3, 1},  {1, -3, 1}, {1, 1, 3},  {1, 1, -3},
                                        {3, -1, 1}, {3, 1, -1}, {1, 3, -1}, {-1, 3, 1}, {1, -1, -3}};

TEST_F(CubeMapTest, ADirectionMeetsATexelOfAFace) {
  const std::vector<float> expected = {0, 11, 23, 31, 41, 50, 2, 1, 21, 22, 52};
  EXPECT_EQ(Sampled("of_cube", 6, kAround), expected);
}

TEST_F(CubeMapTest, LayersAreCubes) {
  const std::vector<float> expected = {60, 71, 83, 91, 101, 110, 62, 61, 81, 82, 112};
  EXPECT_EQ(Sampled("of_layer", 12, kAround), expected);
}

// Halfway between the faces of x and z texels of both are mixed, or with itself the one at the edge.
TEST_F(CubeMapTest, AcrossAnEdgeASeamlessTextureGoesOnOnTheNextFace) {
  sampling_.filterMode = CU_TR_FILTER_MODE_LINEAR;
  const std::vector<Direction> at_edge = {{1, 0.5f, 1}, {1, -0.5f, 1}};
  EXPECT_EQ(Sampled("of_cube", 6, at_edge), (std::vector<float>{41, 43}));
  sampling_.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  EXPECT_EQ(Sampled("of_cube", 6, at_edge), (std::vector<float>{(41 + 0) / 2.0f, (43 + 2) / 2.0f}));
}

TEST_F(CubeMapTest, ThreeFacesMeetAtACorner) {
  sampling_.filterMode = CU_TR_FILTER_MODE_LINEAR;
  sampling_.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  const std::vector<float> values = Sampled("of_cube", 6, {{1, 1, 1}});
  EXPECT_NEAR(values[0], (0 + 23 + 41) / 3.0f, 1e-4f);  // of each the texel at that corner
}

TEST_F(CubeMapTest, WhatIsNoCubeIsRefused) {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape{4, 2, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP};
  EXPECT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_INVALID_VALUE);
  shape.Height = 4;
  shape.Depth = 12;  // not without layers
  EXPECT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_INVALID_VALUE);
  shape.Flags |= CUDA_ARRAY3D_LAYERED;
  shape.Depth = 8;
  EXPECT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_INVALID_VALUE);
  shape.Depth = 0;
  EXPECT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC resource{};
  shape.Flags = 0;
  CU_ASSERT(cuArray3DCreate_v2(&resource.res.array.hArray, &shape));
  sampling_.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling_, nullptr), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuArrayDestroy(resource.res.array.hArray));
}

}  // namespace
}  // namespace tutti::compat
