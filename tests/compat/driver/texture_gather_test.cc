// tld4 by the driver API, from PTX text: one component of the four texels between whose centres a point lies.
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// gather, gather_of_layer: each thread takes a point, { layer, x, y }, and stores what tld4 gives for red, green, blue
// and alpha: sixteen words.
constexpr const char* kGather = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry gather(.param .u64 texture, .param .u64 points, .param .u64 out) {
  .reg .b32 %r<20>; .reg .f32 %f<2>; .reg .b64 %rd<5>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [points];
  ld.param.u64 %rd2, [out];
  mov.u32 %r16, %tid.x;
  mad.wide.u32 %rd1, %r16, 12, %rd1;
  mad.wide.u32 %rd2, %r16, 64, %rd2;
  ld.global.f32 %f0, [%rd1+4];
  ld.global.f32 %f1, [%rd1+8];
  tld4.r.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%rd0, {%f0, %f1}];
  tld4.g.2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd0, {%f0, %f1}];
  tld4.b.2d.v4.u32.f32 {%r8, %r9, %r10, %r11}, [%rd0, {%f0, %f1}];
  tld4.a.2d.v4.u32.f32 {%r12, %r13, %r14, %r15}, [%rd0, {%f0, %f1}];
  st.global.v4.u32 [%rd2], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%rd2+16], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%rd2+32], {%r8, %r9, %r10, %r11};
  st.global.v4.u32 [%rd2+48], {%r12, %r13, %r14, %r15};
  ret;
}
.visible .entry gather_of_layer(.param .u64 texture, .param .u64 points, .param .u64 out) {
  .reg .b32 %r<20>; .reg .f32 %f<2>; .reg .b64 %rd<5>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [points];
  ld.param.u64 %rd2, [out];
  mov.u32 %r16, %tid.x;
  mad.wide.u32 %rd1, %r16, 12, %rd1;
  mad.wide.u32 %rd2, %r16, 64, %rd2;
  ld.global.u32 %r17, [%rd1];
  ld.global.f32 %f0, [%rd1+4];
  ld.global.f32 %f1, [%rd1+8];
  tld4.r.a2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%rd0, {%r17, %f0, %f1, %f1}];
  tld4.g.a2d.v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd0, {%r17, %f0, %f1, %f1}];
  tld4.b.a2d.v4.u32.f32 {%r8, %r9, %r10, %r11}, [%rd0, {%r17, %f0, %f1, %f1}];
  tld4.a.a2d.v4.u32.f32 {%r12, %r13, %r14, %r15}, [%rd0, {%r17, %f0, %f1, %f1}];
  st.global.v4.u32 [%rd2], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%rd2+16], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%rd2+32], {%r8, %r9, %r10, %r11};
  st.global.v4.u32 [%rd2+48], {%r12, %r13, %r14, %r15};
  ret;
}
)";

constexpr unsigned kWidth = 4, kHeight = 3, kLayers = 2, kChannels = 4;
constexpr int kOutside = -1;

// What the hundreds, tens and ones of a texel's components say: component, row and column; thousands: its layer.
uint32_t Texel(unsigned layer, int x, int y, unsigned component) {
  if (x == kOutside || y == kOutside) return 7 + component;  // the border's colour
  return 1000 * layer + 100 * (component + 1) + 10 * static_cast<unsigned>(y) + static_cast<unsigned>(x);
}

// A point, and the columns and rows of the texels around it, by hand.
struct Case {
  uint32_t layer;
  float x, y;
  std::array<int, 2> columns, rows;
};

class TextureGatherTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&gather_, kGather));
    for (int& mode : sampling_.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
    for (unsigned c = 0; c < kChannels; ++c) sampling_.borderColor[c] = static_cast<float>(Texel(0, kOutside, 0, c));
  }
  void TearDown() override {
    CU_EXPECT(cuModuleUnload(gather_));
    DriverTest::TearDown();
  }

  void UseAddressMode(int mode) {
    for (int& each : sampling_.addressMode) each = mode;
    sampling_.flags = CU_TRSF_NORMALIZED_COORDINATES;
  }

  // An array of two layers, of integers or of floats of the same values.
  CUarray MakeArray(bool floats) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{kWidth,    kHeight,
                                        kLayers,   floats ? CU_AD_FORMAT_FLOAT : CU_AD_FORMAT_UNSIGNED_INT32,
                                        kChannels, CUDA_ARRAY3D_LAYERED};
    std::vector<uint32_t> texels;
    for (int i = 0; i < static_cast<int>(kWidth * kHeight * kLayers); ++i) {
      const int x = i % static_cast<int>(kWidth), row = i / static_cast<int>(kWidth);
      for (unsigned c = 0; c < kChannels; ++c) {
        const uint32_t value = Texel(static_cast<unsigned>(row) / kHeight, x, row % static_cast<int>(kHeight), c);
        texels.push_back(floats ? std::bit_cast<uint32_t>(static_cast<float>(value)) : value);
      }
    }
    CUarray array = nullptr;
    CU_EXPECT(cuArray3DCreate_v2(&array, &shape));
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes = kWidth * kChannels * sizeof(uint32_t);
    copy.srcHeight = copy.Height = kHeight;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.Depth = kLayers;
    CU_EXPECT(cuMemcpy3D_v2(&copy));
    return array;
  }

  void Expect(const std::vector<Case>& cases, bool floats, const char* kernel = "gather") {
    CUDA_RESOURCE_DESC resource{};
    resource.res.array.hArray = MakeArray(floats);
    CUtexObject texture = 0;
    CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling_, nullptr));
    std::vector<uint32_t> points;
    for (const Case& at : cases) {
      points.insert(points.end(), {at.layer, std::bit_cast<uint32_t>(at.x), std::bit_cast<uint32_t>(at.y)});
    }
    const auto count = static_cast<unsigned>(cases.size());
    CUdeviceptr in = Allocate(points.size() * sizeof(uint32_t)), out = Allocate(16 * count * sizeof(uint32_t));
    CU_ASSERT(cuMemcpyHtoD_v2(in, points.data(), points.size() * sizeof(uint32_t)));
    CUfunction function = nullptr;
    CU_ASSERT(cuModuleGetFunction(&function, gather_, kernel));
    void* parameters[] = {&texture, &in, &out};
    CU_ASSERT(Launch(function, 1, count, parameters));
    const std::vector<uint32_t> words = Read(out, 16 * count);
    for (unsigned i = 0; i < count; ++i) {
      const auto& [layer, x, y, columns, rows] = cases[i];
      for (unsigned c = 0; c < kChannels; ++c) {
        // From the lower left against the clock; rows are counted downwards.
        const uint32_t expected[] = {Texel(layer, columns[0], rows[1], c), Texel(layer, columns[1], rows[1], c),
                                     Texel(layer, columns[1], rows[0], c), Texel(layer, columns[0], rows[0], c)};
        for (unsigned k = 0; k < 4; ++k) {
          const uint32_t word = words[16 * i + 4 * c + k];
          EXPECT_EQ(floats ? static_cast<uint32_t>(std::bit_cast<float>(word)) : word, expected[k])
              << "at (" << x << ", " << y << "), component " << c << ", texel " << k;
        }
      }
    }
    CU_EXPECT(cuMemFree_v2(in));
    CU_EXPECT(cuMemFree_v2(out));
    CU_EXPECT(cuTexObjectDestroy(texture));
    CU_EXPECT(cuArrayDestroy(resource.res.array.hArray));
  }

  // The filter mode is not for what is gathered.
  void ExpectWithAnyFilter(const std::vector<Case>& cases) {
    for (const int filter : {CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR}) {
      SCOPED_TRACE(filter);
      sampling_.filterMode = filter;
      Expect(cases, true);
    }
  }

  CUDA_TEXTURE_DESC sampling_{};

 private:
  CUmodule gather_ = nullptr;
};

// Centres lie at .5: between those of texels 1 and 2 is what is from 1.5 to 2.5.
const std::vector<Case> kInside = {
    {0, 2.0f, 1.0f, {1, 2}, {0, 1}},
    {0, 1.5f, 1.25f, {1, 2}, {0, 1}},
    {0, 2.4375f, 1.5f, {1, 2}, {1, 2}},
    {0, 2.5f, 0.5f, {2, 3}, {0, 1}},
};

TEST_F(TextureGatherTest, EachComponentOfTheFourTexelsAroundAPointIsRead) {
  Expect(kInside, false);
  ExpectWithAnyFilter(kInside);
}

TEST_F(TextureGatherTest, BeyondTheEdgeItIsTheTexelAtTheEdge) {
  const std::vector<Case> cases = {
      {0, 0.25f, 0.0f, {0, 0}, {0, 0}},
      {0, 3.75f, 2.5f, {3, 3}, {2, 2}},
      {0, -9.0f, 99.0f, {0, 0}, {2, 2}},
  };
  Expect(cases, false);
  ExpectWithAnyFilter(cases);
}

TEST_F(TextureGatherTest, BeyondTheEdgeItIsTheBordersColour) {
  UseAddressMode(CU_TR_ADDRESS_MODE_BORDER);
  const std::vector<Case> cases = {
      {0, 0.5f, 0.5f, {1, 2}, {1, 2}},
      {0, 0.0625f, 0.5f, {kOutside, 0}, {1, 2}},
      {0, 0.9375f, 0.9375f, {3, kOutside}, {2, kOutside}},
      {0, 3.0f, -3.0f, {kOutside, kOutside}, {kOutside, kOutside}},
  };
  Expect(cases, false);
  ExpectWithAnyFilter(cases);
}

TEST_F(TextureGatherTest, BeyondTheEdgeTheTextureBeginsAgain) {
  UseAddressMode(CU_TR_ADDRESS_MODE_WRAP);
  const std::vector<Case> cases = {
      {0, 0.0625f, 0.0625f, {3, 0}, {2, 0}},
      {0, 0.9375f, 0.5f, {3, 0}, {1, 2}},
      {0, -0.5f, 2.5f, {1, 2}, {1, 2}},
  };
  Expect(cases, false);
  ExpectWithAnyFilter(cases);
}

// By the programming guide an odd coordinate x is read at 1 - frac(x), and the four texels are those around that.
TEST_F(TextureGatherTest, BeyondTheEdgeTheTextureIsMirrored) {
  UseAddressMode(CU_TR_ADDRESS_MODE_MIRROR);
  const std::vector<Case> cases = {
      {0, 1.3125f, 0.5f, {2, 3}, {1, 2}},     // at 0.6875
      {0, -0.0625f, 0.5f, {0, 0}, {1, 2}},    // at 0.0625
      {0, -0.3125f, -0.5f, {0, 1}, {1, 2}},   // at 0.3125, 0.5
      {0, 1.0625f, 1.9375f, {3, 3}, {0, 0}},  // at 0.9375, 0.0625
  };
  Expect(cases, false);
  ExpectWithAnyFilter(cases);
}

TEST_F(TextureGatherTest, TheTexelsAreThoseOfTheLayer) {
  std::vector<Case> cases;
  for (Case at : kInside) {
    for (at.layer = 0; at.layer < kLayers; ++at.layer) cases.push_back(at);
  }
  Expect(cases, false, "gather_of_layer");
}

}  // namespace
}  // namespace tutti::compat
