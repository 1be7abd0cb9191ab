// Texture and surface references, queries, formatted stores and reductions, sRGB and views, from PTX text.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

// fetch: out[t] = red of the reference at t (1D, by number). mix: the same at t + 0.5 + 0.25 of a 2D one, filtered.
// fetch_object: four words of the texel (t, layer), by an object. layers: the same of layered textures.
// put: t to the reference's texel (t, 0), formatted. add: by a reduction. ask: what txq and suq say.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .texref line;
.visible .global .texref plane;
.visible .global .surfref canvas;
.visible .entry fetch(.param .u64 out) {
  .reg .b32 %r<6>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [line, {%r0}];
  mad.wide.u32 %rd0, %r0, 4, %rd0;
  st.global.u32 [%rd0], %r1;
  ret;
}
.visible .entry mix(.param .u64 out) {
  .reg .b32 %r<6>; .reg .f32 %f<8>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f0, %r0;
  add.f32 %f0, %f0, 0f3F400000;
  mov.f32 %f1, 0f3F000000;
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [plane, {%f0, %f1}];
  mad.wide.u32 %rd0, %r0, 4, %rd0;
  st.global.f32 [%rd0], %f2;
  ret;
}
.visible .entry fetch_object(.param .u64 texture, .param .u32 layer, .param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [texture];
  ld.param.u32 %r5, [layer];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd0, {%r0, %r5}];
  mad.wide.u32 %rd1, %r0, 16, %rd1;
  st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
  ret;
}
.visible .entry halves(.param .u64 texture, .param .u64 out) {
  .reg .b32 %r<4>; .reg .b16 %h<4>; .reg .f32 %f<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.f32 %f0, 0f3F000000;
  tex.2d.v2.f16x2.f32 {%r0, %r1}, [%rd0, {%f0, %f0}];
  tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%rd0, {%f0, %f0}];
  mov.b32 %r2, {%h0, %h1};
  mov.b32 %r3, {%h2, %h3};
  st.global.v4.u32 [%rd1], {%r0, %r1, %r2, %r3};
  ret;
}
.visible .entry layers(.param .u64 texture, .param .u32 layer, .param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [texture];
  ld.param.u32 %r5, [layer];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r6, 0;
  tex.a2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd0, {%r5, %r0, %r6, %r6}];
  mad.wide.u32 %rd1, %r0, 16, %rd1;
  st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
  ret;
}
.visible .entry put(.param .u32 first, .param .u32 second) {
  .reg .b32 %r<6>;
  ld.param.u32 %r0, [first];
  ld.param.u32 %r1, [second];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
  sust.p.2d.v2.b32.zero [canvas, {%r2, %r3}], {%r0, %r1};
  ret;
}
.visible .entry add(.param .u64 surface) {
  .reg .b32 %r<6>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [surface];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 1;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, 0;
  sured.b.add.2d.u32.trap [%rd0, {%r2, %r3}], 1;
  add.u32 %r2, %r2, 8;
  sured.b.max.2d.s32.clamp [%rd0, {%r2, %r3}], %r0;
  sured.p.or.2d.b32.zero [%rd0, {%r1, %r3}], 256;
  sured.p.or.2d.b32.zero [%rd0, {%r0, %r0}], 256;
  ret;
}
.visible .entry ask(.param .u64 texture, .param .u64 surface, .param .u64 out) {
  .reg .b32 %r<20>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [surface];
  ld.param.u64 %rd2, [out];
  mov.u32 %r16, 1;
  txq.width.b32 %r0, [%rd0];
  txq.height.b32 %r1, [%rd0];
  txq.depth.b32 %r2, [%rd0];
  txq.array_size.b32 %r3, [%rd0];
  txq.num_mipmap_levels.b32 %r4, [%rd0];
  txq.normalized_coords.b32 %r5, [%rd0];
  txq.filter_mode.b32 %r6, [%rd0];
  txq.addr_mode_0.b32 %r7, [%rd0];
  txq.addr_mode_1.b32 %r8, [%rd0];
  txq.num_samples.b32 %r9, [%rd0];
  txq.level.width.b32 %r10, [%rd0], %r16;
  txq.width.b32 %r11, [line];
  suq.width.b32 %r12, [%rd1];
  suq.height.b32 %r13, [%rd1];
  suq.array_size.b32 %r14, [%rd1];
  suq.width.b32 %r15, [canvas];
  st.global.v4.u32 [%rd2], {%r0, %r1, %r2, %r3};
  st.global.v4.u32 [%rd2+16], {%r4, %r5, %r6, %r7};
  st.global.v4.u32 [%rd2+32], {%r8, %r9, %r10, %r11};
  st.global.v4.u32 [%rd2+48], {%r12, %r13, %r14, %r15};
  ret;
}
)";

class TextureReferenceTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&code_, kPtx));
  }
  void TearDown() override {
    CU_EXPECT(cuModuleUnload(code_));
    DriverTest::TearDown();
  }
  void Run(const char* kernel, unsigned threads, void** parameters) {
    CUfunction function = nullptr;
    CU_ASSERT(cuModuleGetFunction(&function, code_, kernel));
    CU_ASSERT(Launch(function, 1, threads, parameters));
    CU_ASSERT(cuCtxSynchronize());
  }
  CUtexref Reference(const char* name) {
    CUtexref reference = nullptr;
    CU_EXPECT(cuModuleGetTexRef(&reference, code_, name));
    return reference;
  }
  std::vector<uint32_t> Stored(const char* kernel, unsigned threads) {
    CUdeviceptr out = Allocate(threads * 4);
    void* parameters[] = {&out};
    Run(kernel, threads, parameters);
    const std::vector<uint32_t> words = Read(out, threads);
    CU_EXPECT(cuMemFree_v2(out));
    return words;
  }
  std::vector<uint32_t> Texels(const char* kernel, CUtexObject texture, uint32_t layer, unsigned count) {
    CUdeviceptr out = Allocate(count * 16);
    void* parameters[] = {&texture, &layer, &out};
    Run(kernel, count, parameters);
    const std::vector<uint32_t> words = Read(out, 4 * count);
    CU_EXPECT(cuMemFree_v2(out));
    return words;
  }
  static CUarray MakeArray(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                           unsigned flags) {
    const CUDA_ARRAY3D_DESCRIPTOR shape{width, height, depth, format, channels, flags};
    CUarray array = nullptr;
    CU_EXPECT(cuArray3DCreate_v2(&array, &shape));
    return array;
  }
  static CUDA_RESOURCE_DESC Of(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }

  CUmodule code_ = nullptr;
};

TEST_F(TextureReferenceTest, EachLaunchReadsWhatIsBoundThen) {
  const CUtexref line = Reference("line");
  EXPECT_EQ(Reference("line"), line) << "a name has one reference";
  const CUdeviceptr first = Allocate(16), second = Allocate(16);
  for (unsigned i = 0; i < 4; ++i) {
    CU_ASSERT(cuMemsetD32_v2(first + 4 * i, 10 + i, 1));
    CU_ASSERT(cuMemsetD32_v2(second + 4 * i, 20 + i, 1));
  }
  EXPECT_EQ(Stored("fetch", 4), std::vector<uint32_t>(4, 0)) << "nothing is bound";
  size_t offset = 99;
  CU_ASSERT(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT32, 1));
  CU_ASSERT(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
  CU_ASSERT(cuTexRefSetAddress_v2(&offset, line, first, 16));
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(Stored("fetch", 4), (std::vector<uint32_t>{10, 11, 12, 13}));
  CU_ASSERT(cuTexRefSetAddress_v2(nullptr, line, second, 8));
  EXPECT_EQ(Stored("fetch", 4), (std::vector<uint32_t>{20, 21, 0, 0})) << "8 bytes of it";
  EXPECT_EQ(cuTexRefSetAddress_v2(nullptr, line, first, size_t{1} << 40), CUDA_ERROR_INVALID_VALUE);
  const CUDA_ARRAY_DESCRIPTOR wide{.Width = 8, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
  EXPECT_EQ(cuTexRefSetAddress2D_v3(line, &wide, first, 16), CUDA_ERROR_INVALID_VALUE) << "rows are longer";
  CUdeviceptr bound = 0;
  CU_EXPECT(cuTexRefGetAddress_v2(&bound, line));
  EXPECT_EQ(bound, second);
  CU_EXPECT(cuMemFree_v2(first));
  CU_EXPECT(cuMemFree_v2(second));
}

TEST_F(TextureReferenceTest, ARunningKernelReadsWhatWasBoundAtItsLaunch) {
  const CUtexref line = Reference("line");
  const CUdeviceptr first = Allocate(16), second = Allocate(16);
  CU_ASSERT(cuMemsetD32_v2(first, 1, 4));
  CU_ASSERT(cuMemsetD32_v2(second, 2, 4));
  CU_ASSERT(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT32, 1));
  CU_ASSERT(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
  CUfunction fetch = nullptr;
  CU_ASSERT(cuModuleGetFunction(&fetch, code_, "fetch"));
  constexpr unsigned kTurns = 100;
  CUstream stream = nullptr;
  CU_ASSERT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr out = Allocate(size_t{kTurns} * 16);
  for (unsigned turn = 0; turn < kTurns; ++turn) {
    CU_ASSERT(cuTexRefSetAddress_v2(nullptr, line, turn % 2 == 0 ? first : second, 16));
    CUdeviceptr at = out + size_t{turn} * 16;
    void* parameters[] = {&at};
    CU_ASSERT(Launch(fetch, 1, 4, parameters, stream));
  }
  CU_ASSERT(cuStreamSynchronize(stream));
  CU_EXPECT(cuStreamDestroy_v2(stream));
  const std::vector<uint32_t> words = Read(out, kTurns * 4);
  for (unsigned i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i / 4 % 2 == 0 ? 1u : 2u) << i;
  for (const CUdeviceptr address : {first, second, out}) CU_EXPECT(cuMemFree_v2(address));
}

TEST_F(TextureReferenceTest, FiltersAndModesAreThoseThatWereSet) {
  const CUtexref plane = Reference("plane");
  const CUarray array = MakeArray(4, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  const float texels[] = {0, 10, 20, 30};
  CU_ASSERT(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels));
  CU_ASSERT(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
  CU_ASSERT(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
  CU_ASSERT(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_BORDER));
  float color[4] = {100, 0, 0, 0};
  CU_ASSERT(cuTexRefSetBorderColor(plane, color));
  const std::vector<uint32_t> words = Stored("mix", 5);
  const float expected[] = {2.5f, 12.5f, 22.5f, 47.5f, 100};
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(std::bit_cast<float>(words[i]), expected[i]) << i;
  CUarray found = nullptr;
  CUfilter_mode filter = -1;
  CUaddress_mode mode = -1;
  CU_EXPECT(cuTexRefGetArray(&found, plane));
  CU_EXPECT(cuTexRefGetFilterMode(&filter, plane));
  CU_EXPECT(cuTexRefGetAddressMode(&mode, plane, 0));
  EXPECT_EQ(found, array);
  EXPECT_EQ(filter, CU_TR_FILTER_MODE_LINEAR);
  EXPECT_EQ(mode, CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(cuTexRefSetAddressMode(plane, 3, CU_TR_ADDRESS_MODE_WRAP), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFilterMode(plane, 7), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(TextureReferenceTest, NamesAndHandlesThatAreNoReferencesAreRefused) {
  CUtexref reference = nullptr;
  CUsurfref surface = nullptr;
  EXPECT_EQ(cuModuleGetTexRef(&reference, code_, "canvas"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetTexRef(&reference, code_, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetSurfRef(&surface, code_, "line"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuTexRefSetFlags(reinterpret_cast<CUtexref>(0x1234), 0), CUDA_ERROR_INVALID_HANDLE);
  CU_ASSERT(cuModuleGetSurfRef(&surface, code_, "canvas"));
  EXPECT_EQ(cuTexRefSetFlags(reinterpret_cast<CUtexref>(surface), 0), CUDA_ERROR_INVALID_HANDLE);
  const CUtexref line = Reference("line");
  EXPECT_EQ(cuTexRefDestroy(line), CUDA_ERROR_INVALID_VALUE) << "it is the module's";
  CU_ASSERT(cuTexRefCreate(&reference));
  CU_EXPECT(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
  CU_EXPECT(cuTexRefDestroy(reference));
  EXPECT_EQ(cuTexRefDestroy(reference), CUDA_ERROR_INVALID_HANDLE);
  CUmodule other = nullptr;
  CU_ASSERT(cuModuleLoadData(&other, kPtx));
  CU_ASSERT(cuModuleGetTexRef(&reference, other, "line"));
  CU_ASSERT(cuModuleUnload(other));
  EXPECT_EQ(cuTexRefSetFlags(reference, 0), CUDA_ERROR_INVALID_HANDLE) << "it ended with its module";
}

TEST_F(TextureReferenceTest, FormattedStoresKeepWhatTheFormatHolds) {
  CUsurfref canvas = nullptr;
  CU_ASSERT(cuModuleGetSurfRef(&canvas, code_, "canvas"));
  struct Case {
    CUarray_format format;
    uint32_t first, second, stored;  // both channels in a word of two halves
  };
  const Case cases[] = {
      {CU_AD_FORMAT_UNSIGNED_INT16, 70'000, 5, 0x0005'ffff},
      {CU_AD_FORMAT_SIGNED_INT16, 0xffff'0000, 0x7fff'ffff, 0x7fff'8000},
      {CU_AD_FORMAT_HALF, std::bit_cast<uint32_t>(1.0f), std::bit_cast<uint32_t>(-2.0f), 0xc000'3c00},
  };
  for (const Case& c : cases) {
    const CUarray array = MakeArray(3, 1, 0, c.format, 2, CUDA_ARRAY3D_SURFACE_LDST);
    CU_ASSERT(cuSurfRefSetArray(canvas, array, 0));
    uint32_t first = c.first, second = c.second, words[3] = {};
    void* parameters[] = {&first, &second};
    Run("put", 8, parameters);  // five of them outside
    CU_ASSERT(cuMemcpyAtoH_v2(words, array, 0, sizeof words));
    for (const uint32_t word : words) EXPECT_EQ(word, c.stored) << c.format;
    CU_EXPECT(cuArrayDestroy(array));
  }
}

TEST_F(TextureReferenceTest, SurfacesAreReducedByManyThreadsAtOnce) {
  const CUarray array = MakeArray(4, 1, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
  const uint32_t zeros[4] = {};
  CU_ASSERT(cuMemcpyHtoA_v2(array, 0, zeros, sizeof zeros));
  const CUDA_RESOURCE_DESC resource = Of(array);
  CUsurfObject surface = 0;
  CU_ASSERT(cuSurfObjectCreate(&surface, &resource));
  void* parameters[] = {&surface};
  Run("add", 96, parameters);
  uint32_t words[4] = {};
  CU_ASSERT(cuMemcpyAtoH_v2(words, array, 0, sizeof words));
  EXPECT_EQ(words[0], 48u + 256);
  EXPECT_EQ(words[1], 48u + 256);
  EXPECT_EQ(words[2], 94u);
  EXPECT_EQ(words[3], 95u);
  CU_EXPECT(cuSurfObjectDestroy(surface));
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(TextureReferenceTest, KernelsLearnTheShapeOfTexturesAndSurfaces) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{40, 12, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED};
  CUmipmappedArray levels = nullptr;
  CU_ASSERT(cuMipmappedArrayCreate(&levels, &shape, 3));
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = levels;
  CUDA_TEXTURE_DESC sampling{};
  sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
  sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
  sampling.addressMode[0] = CU_TR_ADDRESS_MODE_MIRROR;
  sampling.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER;
  CUtexObject texture = 0;
  CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  const CUarray array = MakeArray(7, 3, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_SURFACE_LDST);
  const CUDA_RESOURCE_DESC drawn = Of(array);
  CUsurfObject surface = 0;
  CU_ASSERT(cuSurfObjectCreate(&surface, &drawn));
  CUsurfref canvas = nullptr;
  CU_ASSERT(cuModuleGetSurfRef(&canvas, code_, "canvas"));
  CU_ASSERT(cuSurfRefSetArray(canvas, array, 0));
  const CUdeviceptr bytes = Allocate(400);
  CU_ASSERT(cuTexRefSetAddress_v2(nullptr, Reference("line"), bytes, 400));
  CUdeviceptr out = Allocate(64);
  void* parameters[] = {&texture, &surface, &out};
  Run("ask", 1, parameters);
  EXPECT_EQ(Read(out, 16), (std::vector<uint32_t>{40, 12, 1, 5, 3, 1, 1, 1, 4, 1, 20, 100, 7, 3, 1, 7}));
  CU_EXPECT(cuTexObjectDestroy(texture));
  CU_EXPECT(cuSurfObjectDestroy(surface));
  CU_EXPECT(cuArrayDestroy(array));
  CU_EXPECT(cuMipmappedArrayDestroy(levels));
  CU_EXPECT(cuMemFree_v2(out));
  CU_EXPECT(cuMemFree_v2(bytes));
}

TEST_F(TextureReferenceTest, BytesOfSrgbAreReadAsLinearLightButForAlpha) {
  const CUarray array = MakeArray(4, 1, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0);
  const uint8_t texels[16] = {0, 10, 128, 128, 255, 64, 32, 255, 1, 2, 3, 4, 200, 210, 220, 230};
  CU_ASSERT(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels));
  const CUDA_RESOURCE_DESC resource = Of(array);
  CUDA_TEXTURE_DESC sampling{};
  sampling.flags = CU_TRSF_SRGB;
  CUtexObject texture = 0;
  CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  const std::vector<uint32_t> words = Texels("fetch_object", texture, 0, 4);
  for (unsigned i = 0; i < 16; ++i) {
    const double x = texels[i] / 255.0;
    const double linear = i % 4 == 3 ? x : x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    EXPECT_NEAR(std::bit_cast<float>(words[i]), linear, 1e-6) << i;
  }
  CU_EXPECT(cuTexObjectDestroy(texture));
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(TextureReferenceTest, TexelsAreReadAsHalvesOneByOneAndInPairs) {
  const CUarray array = MakeArray(1, 1, 0, CU_AD_FORMAT_FLOAT, 4, 0);
  const float texel[] = {1, -2, 0.5f, 70000};
  CU_ASSERT(cuMemcpyHtoA_v2(array, 0, texel, sizeof texel));
  const CUDA_RESOURCE_DESC resource = Of(array);
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  CUdeviceptr out = Allocate(16);
  void* parameters[] = {&texture, &out};
  Run("halves", 1, parameters);
  EXPECT_EQ(Read(out, 4), (std::vector<uint32_t>{0xc0003c00, 0x7c003800, 0xc0003c00, 0x7c003800}));
  CU_EXPECT(cuMemFree_v2(out));
  CU_EXPECT(cuTexObjectDestroy(texture));
  CU_EXPECT(cuArrayDestroy(array));
}

TEST_F(TextureReferenceTest, AViewShowsOtherFormatsAndSomeLayers) {
  const CUarray array = MakeArray(2, 1, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED);
  CUDA_MEMCPY3D copy{};
  const uint32_t texels[6] = {0x01020304, 0x05060708, 0x11121314, 0x15161718, 0x21222324, 0x25262728};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = texels;
  copy.srcPitch = 8;
  copy.srcHeight = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 8;
  copy.Height = 1;
  copy.Depth = 3;
  CU_ASSERT(cuMemcpy3D_v2(&copy));
  const CUDA_RESOURCE_DESC resource = Of(array);
  CUDA_TEXTURE_DESC sampling{};
  sampling.flags = CU_TRSF_READ_AS_INTEGER;
  for (int& mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
  view.width = 2;
  view.height = 1;
  view.depth = 3;
  view.firstLayer = 1;
  view.lastLayer = 2;
  CUtexObject texture = 0;
  CU_ASSERT(cuTexObjectCreate(&texture, &resource, &sampling, &view));
  EXPECT_EQ(Texels("layers", texture, 0, 2), (std::vector<uint32_t>{0x14, 0x13, 0x12, 0x11, 0x18, 0x17, 0x16, 0x15}));
  EXPECT_EQ(Texels("layers", texture, 9, 1), (std::vector<uint32_t>{0x24, 0x23, 0x22, 0x21})) << "the last it shows";
  CUDA_RESOURCE_VIEW_DESC told{};
  CU_EXPECT(cuTexObjectGetResourceViewDesc(&told, texture));
  EXPECT_EQ(told.firstLayer, 1u);
  CU_EXPECT(cuTexObjectDestroy(texture));

  const auto refused = [&](auto change) {
    CUDA_RESOURCE_VIEW_DESC wrong = view;
    change(wrong);
    return cuTexObjectCreate(&texture, &resource, &sampling, &wrong);
  };
  EXPECT_EQ(refused([](auto& v) { v.format = CU_RES_VIEW_FORMAT_FLOAT_4X32; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& v) { v.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1; }), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(refused([](auto& v) { v.format = 0x1000; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& v) { v.width = 4; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& v) { v.lastLayer = 3; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& v) { v.firstLayer = 3; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& v) { v.lastMipmapLevel = 1; }), CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuArrayDestroy(array));
}

}  // namespace
}  // namespace tutti::compat
