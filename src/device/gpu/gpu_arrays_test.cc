// Arrays and textures that a driver makes for a client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/result.h"
#include "cuda/types.h"
#include "device/gpu/testing/gpu_fixture.h"
#include "metrics/client_counters.h"

namespace tutti::device::gpu {
namespace {

using cts::Client;
using testing::HasSubstr;

// Writes the texel at c, d of the texture b to a.
constexpr std::string_view kTexel = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry texel(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {
  .reg .b64 %out, %texture, %t;
  .reg .b32 %x, %y, %v<4>;
  ld.param.u64 %out, [a];
  ld.param.u64 %texture, [b];
  ld.param.u64 %t, [c];
  cvt.u32.u64 %x, %t;
  ld.param.u64 %t, [d];
  cvt.u32.u64 %y, %t;
  tex.2d.v4.u32.s32 {%v0, %v1, %v2, %v3}, [%texture, {%x, %y}];
  st.global.u32 [%out], %v0;
  ret;
}
)";

constexpr uint64_t kWidth = 8, kHeight = 4, kRowBytes = kWidth * sizeof(uint32_t);

wire::ArrayCreateBody ArrayOf(uint64_t width, uint64_t height) {
  return {.shape = {.width = width,
                    .height = height,
                    .format = cuda::CU_AD_FORMAT_UNSIGNED_INT32,
                    .channels = 1,
                    .levels = 1},
          .device = 0,
          .reserved = 0};
}

wire::TextureCreateBody TextureOf(uint64_t array) {
  wire::TextureCreateBody texture{};
  texture.address = array;
  texture.kind = wire::TextureKind::kArray;
  texture.flags = cuda::CU_TRSF_READ_AS_INTEGER;
  for (uint8_t& mode : texture.address_mode) mode = cuda::CU_TR_ADDRESS_MODE_CLAMP;
  return texture;
}

wire::CopyBody RowsOf(uint64_t to, uint64_t from, uint64_t rows, uint64_t row_bytes = kRowBytes) {
  return {.destination = to,
          .source = from,
          .row_bytes = row_bytes,
          .rows = rows,
          .planes = 1,
          .destination_pitch = kRowBytes,
          .source_pitch = kRowBytes,
          .destination_plane = 0,
          .source_plane = 0};
}

class GpuArraysTest : public GpuFixture {
 protected:
  // Word i of it is 100 + i.
  static uint64_t Numbers(Client& client) {
    const uint64_t address = client.Allocate(kHeight * kRowBytes);
    std::vector<uint32_t> words(kHeight * kWidth);
    for (uint32_t i = 0; i < words.size(); ++i) words[i] = 100 + i;
    client.Write(address, {reinterpret_cast<const uint8_t*>(words.data()), kHeight * kRowBytes});
    return address;
  }
  static uint64_t MustCreate(Client& client) {
    const auto array = client.space().CreateArray(ArrayOf(kWidth, kHeight));
    EXPECT_TRUE(array) << array.error().text;
    return array.value_or(0);
  }
  static void Copy(Client& client, const wire::CopyBody& copy) {
    ASSERT_TRUE(client.space().Copy(1, client.next_ticket(), copy));
    ASSERT_TRUE(client.Synchronize(1));
  }
  static uint32_t Texel(Client& client, uint64_t texture, uint64_t x, uint64_t y) {
    const uint64_t out = client.Allocate(sizeof(uint64_t));
    client.Launch(1, client.Kernel(kTexel), 1, 1, {out, texture, x, y});
    EXPECT_TRUE(client.Synchronize(1));
    return client.ReadValue<uint32_t>(out);
  }
  static wire::TextureCreateBody LinearTextureOf(uint64_t address) {
    wire::TextureCreateBody linear{};
    linear.kind = wire::TextureKind::kLinear;
    linear.address = address;
    linear.width = kHeight * kRowBytes;
    linear.format = cuda::CU_AD_FORMAT_UNSIGNED_INT32;
    linear.channels = 1;
    linear.flags = cuda::CU_TRSF_READ_AS_INTEGER;
    return linear;
  }
  static void ExpectThatCopyFails(Client& client, const wire::CopyBody& copy) {
    ASSERT_TRUE(client.space().Copy(1, client.next_ticket(), copy));
    ASSERT_TRUE(client.sink().WaitFaults(1));
    EXPECT_EQ(client.sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
  }
};

TEST_F(GpuArraysTest, TexturesReadWhatCopiesHaveWritten) {
  Start({});
  const auto client = Serve();
  const uint64_t numbers = Numbers(*client), array = MustCreate(*client);
  Copy(*client, RowsOf(array, numbers, kHeight));
  const auto texture = client->space().CreateTexture(TextureOf(array));
  ASSERT_TRUE(texture) << texture.error().text;
  EXPECT_EQ(Texel(*client, *texture, 3, 2), 100 + 2 * kWidth + 3);
  // A box of it to another row of the memory, and back to the array's first.
  Copy(*client, RowsOf(numbers, array + kRowBytes + 8, 1, 16));
  EXPECT_EQ(client->ReadValue<uint32_t>(numbers), 100 + kWidth + 2);
  Copy(*client, RowsOf(array, numbers, 1, 4));
  EXPECT_EQ(Texel(*client, *texture, 0, 0), 100 + kWidth + 2);
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuArraysTest, TexturesAreOfLevelsToo) {
  Start({});
  const auto client = Serve();
  wire::ArrayCreateBody body = ArrayOf(2 * kWidth, 2 * kHeight);
  body.shape.levels = 2;
  body.shape.mipmapped = 1;
  const auto array = client->space().CreateArray(body);
  ASSERT_TRUE(array) << array.error().text;
  const uint64_t level = *array + wire::ArrayLayout::Of(body.shape, sizeof(uint32_t))->Level(1).begin;
  Copy(*client, RowsOf(level, Numbers(*client), kHeight));
  auto description = TextureOf(level);
  const auto texture = client->space().CreateTexture(description);
  ASSERT_TRUE(texture) << texture.error().text;
  EXPECT_EQ(Texel(*client, *texture, 3, 2), 100 + 2 * kWidth + 3);
  description.view_format = cuda::CU_RES_VIEW_FORMAT_SINT_1X32;
  const auto view = client->space().CreateTexture(description);
  ASSERT_TRUE(view) << view.error().text;
  EXPECT_EQ(Texel(*client, *view, kWidth - 1, kHeight - 1), 100 + kWidth * kHeight - 1);
  description.kind = wire::TextureKind::kLevels;
  EXPECT_FALSE(client->space().CreateTexture(description)) << "a level has no levels";
  EXPECT_FALSE(client->space().CreateTexture(TextureOf(level + kRowBytes)));
  EXPECT_TRUE(client->sink().faults().empty());
}

TEST_F(GpuArraysTest, WhatAnArrayTookIsFreeWhenItIs) {
  Start({});
  const auto client = Serve();
  const uint64_t before = used();
  const auto array = client->space().CreateArray(ArrayOf(1024, 1024));
  ASSERT_TRUE(array) << array.error().text;
  EXPECT_GE(used(), before + 4 * kMebibyte);
  const auto texture = client->space().CreateTexture(TextureOf(*array));
  ASSERT_TRUE(texture);
  EXPECT_TRUE(client->space().DestroyTexture({.texture = *texture, .is_surface = 0, .reserved = 0}));
  EXPECT_FALSE(client->space().DestroyTexture({.texture = *texture, .is_surface = 0, .reserved = 0}));
  EXPECT_TRUE(client->space().Free(*array));
  EXPECT_FALSE(client->space().Free(*array));
  EXPECT_TRUE(Becomes([&] { return used() == before; }));
  const auto too_large = client->space().CreateArray(ArrayOf(16384, 8192));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, cuda::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(used(), before);
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuArraysTest, SmallOnesLieSideBySide) {
  Start({});
  const auto client = Serve();
  constexpr uint64_t kRange = 2 * kMebibyte;  // the least that is reserved
  std::vector<uint64_t> arrays;
  for (int i = 0; i < 100; ++i) arrays.push_back(MustCreate(*client));
  EXPECT_LT(arrays.back() - arrays.front(), kRange);
  const uint64_t numbers = Numbers(*client);
  for (const uint64_t array : arrays) Copy(*client, RowsOf(array, numbers, kHeight));
  Copy(*client, RowsOf(numbers, arrays[50] + kRowBytes, 1));
  EXPECT_EQ(client->ReadValue<uint32_t>(numbers), 100 + kWidth);

  const uint64_t begin = arrays.front() / kRange * kRange;
  auto memory = client->space().Share(client->Allocate(kRange), Space::AtEnd::kKept);
  ASSERT_TRUE(memory) << memory.error().text;
  EXPECT_FALSE(client->space().Map(begin, *memory, true)) << "over arrays";
  for (const uint64_t array : arrays) EXPECT_TRUE(client->space().Free(array));
  EXPECT_TRUE(Becomes([&] {
    const auto again = client->space().Reserve(0, kRange, 0, begin);
    if (again && *again != begin) (void)client->space().Free(*again);
    return again && *again == begin;
  })) << "what they had is free when they are";
  EXPECT_TRUE(client->space().Map(begin, *memory, true));
}

// More than their texels: a driver lays them out in blocks, and in pages.
TEST_F(GpuArraysTest, TheyCountAsPagesOfBlocks) {
  Start({});
  const auto client = Serve();
  const uint64_t before = used();
  for (int i = 0; i < 8; ++i) MustCreate(*client);
  EXPECT_EQ(used(), before + 8 * (kMebibyte / 16));
  ASSERT_TRUE(client->space().CreateArray(ArrayOf(1, 65536)));
  EXPECT_EQ(used(), before + 8 * (kMebibyte / 16) + 4 * kMebibyte);
  EXPECT_FALSE(client->space().CreateArray(ArrayOf(1, 1u << 30)));
}

TEST_F(GpuArraysTest, CopiesLeaveNoArray) {
  Start({});
  const struct {
    const char* why;
    uint64_t offset, rows, row_bytes;
  } cases[] = {{"beyond the end of a row", 4, 1, kRowBytes},
               {"beyond the last row", kRowBytes, kHeight, kRowBytes},
               {"half a texel", 2, 1, 4}};
  for (const auto& [why, offset, rows, row_bytes] : cases) {
    SCOPED_TRACE(why);
    const auto client = Serve();
    const uint64_t numbers = Numbers(*client), array = MustCreate(*client);
    ExpectThatCopyFails(*client, RowsOf(array + offset, numbers, rows, row_bytes));
  }
  const auto client = Serve();
  const uint64_t numbers = Numbers(*client), array = MustCreate(*client);
  ASSERT_TRUE(client->space().Free(array));
  ExpectThatCopyFails(*client, RowsOf(array, numbers, 1));
}

TEST_F(GpuArraysTest, FillsReachNone) {
  Start({});
  const auto client = Serve();
  const wire::FillBody fill{.destination = MustCreate(*client),
                            .width = 1,
                            .height = 1,
                            .pitch = 4,
                            .value = 1,
                            .element_bytes = 4,
                            .reserved = 0};
  ASSERT_TRUE(client->space().Fill(1, client->next_ticket(), fill));
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_EQ(client->sink().faults()[0].status, cuda::CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(GpuArraysTest, TexturesAreOfWhatIsTheClients) {
  Start({});
  const auto client = Serve(), other = Serve();
  const uint64_t theirs = MustCreate(*other), ours = MustCreate(*client);
  EXPECT_FALSE(client->space().CreateTexture(TextureOf(theirs + kMebibyte)));
  EXPECT_FALSE(client->space().CreateTexture(TextureOf(ours + kRowBytes)));
  wire::TextureCreateBody linear{};
  linear.kind = wire::TextureKind::kLinear;
  linear.address = client->Allocate(kMebibyte);
  linear.width = kMebibyte;
  linear.format = cuda::CU_AD_FORMAT_UNSIGNED_INT32;
  linear.channels = 1;
  EXPECT_TRUE(client->space().CreateTexture(linear));
  linear.width = 1ull << 40;
  EXPECT_FALSE(client->space().CreateTexture(linear));
  linear.kind = wire::TextureKind::kPitched;
  linear.width = 16;
  linear.height = ~0ull;
  linear.pitch = ~0ull;
  EXPECT_FALSE(client->space().CreateTexture(linear));
  EXPECT_FALSE(client->space().CreateArray(ArrayOf(0, 1)));
  EXPECT_TRUE(client->Computes());
}

TEST_F(GpuArraysTest, WhoHasOneIsToldOfItsExecutorsEndAndBeginsAnewAfterAReset) {
  Start({});
  const auto client = Serve();
  const uint64_t numbers = Numbers(*client), array = MustCreate(*client);
  const auto texture = client->space().CreateTexture(TextureOf(array));
  ASSERT_TRUE(texture);
  kill(Executors().front(), SIGKILL);
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_THAT(client->sink().faults()[0].report, HasSubstr("it has arrays"));
  client->space().Reset(0);
  EXPECT_FALSE(client->space().DestroyTexture({.texture = *texture, .is_surface = 0, .reserved = 0}));
  EXPECT_TRUE(client->space().Free(array)) << "its addresses";
  const uint64_t next = MustCreate(*client);
  Copy(*client, RowsOf(next, Numbers(*client), kHeight));
  const auto again = client->space().CreateTexture(TextureOf(next));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(Texel(*client, *again, 1, 0), 101u);
  EXPECT_EQ(client->sink().faults().size(), 1u);
  EXPECT_TRUE(client->space().Free(numbers));
}

// Work that was submitted before a texture was destroyed has its number.
TEST_F(GpuArraysTest, ATextureBindsUntilWhatMayUseItIsDone) {
  Start({});
  const auto client = Serve();
  const auto texture = client->space().CreateTexture(LinearTextureOf(Numbers(*client)));
  ASSERT_TRUE(texture) << texture.error().text;
  ASSERT_TRUE(client->space().HostCall(1, client->next_ticket(), 7));
  ASSERT_TRUE(client->space().DestroyTexture({.texture = *texture, .is_surface = 0, .reserved = 0}));
  EXPECT_FALSE(client->space().DestroyTexture({.texture = *texture, .is_surface = 0, .reserved = 0}));
  kill(Executors().front(), SIGKILL);
  ASSERT_TRUE(client->sink().WaitFaults(1));
  EXPECT_THAT(client->sink().faults()[0].report, HasSubstr("it has textures"));
  client->space().Reset(0);
  // Its end is nothing to the next one, which may have the same number.
  const auto next = client->space().CreateTexture(LinearTextureOf(Numbers(*client)));
  ASSERT_TRUE(next) << next.error().text;
  ASSERT_TRUE(client->space().HostCallDone(1, 7));
  EXPECT_TRUE(client->Computes());
  kill(Executors().front(), SIGKILL);
  ASSERT_TRUE(client->sink().WaitFaults(2)) << "it is there no more";
}

TEST_F(GpuArraysTest, MemoryIsAlignedForTextures) {
  Start({});
  const auto client = Serve();
  constexpr int kMany = 64;  // more than have memory of their own
  constexpr uint64_t kAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT of GPUs
  for (int i = 0; i < kMany; ++i) EXPECT_EQ(client->Allocate(256) % kAlignment, 0u);
}

TEST_F(GpuArraysTest, WhoHasFreedAllGoesOnElsewhere) {
  Start({});
  const auto client = Serve();
  const uint64_t before = used(), array = MustCreate(*client);
  ASSERT_TRUE(client->space().Free(array));
  ASSERT_TRUE(Becomes([&] { return used() == before; }));
  kill(Executors().front(), SIGKILL);
  EXPECT_TRUE(client->Computes());
  EXPECT_TRUE(client->sink().faults().empty());
}

// Nobody else has a place where kernels run that are not fenced.
TEST_F(GpuArraysTest, WhereKernelsAreFencedAClientMovesOutForThem) {
  Start({.isolation = Isolation::kAuto, .fenced = true});
  const auto moves = Serve("a"), stays = Serve("a");
  const uint64_t numbers = Numbers(*moves), array = MustCreate(*moves);
  EXPECT_EQ(moves->space().counters(0).Get(metrics::Counter::moves), 1u);
  Copy(*moves, RowsOf(array, numbers, kHeight));
  const auto texture = moves->space().CreateTexture(TextureOf(array));
  ASSERT_TRUE(texture) << texture.error().text;
  EXPECT_EQ(Texel(*moves, *texture, 3, 2), 100 + 2 * kWidth + 3);
  EXPECT_TRUE(stays->Computes());
}

TEST_F(GpuArraysTest, WhereKernelsAreFencedAndStayThereAreNone) {
  Start({.isolation = Isolation::kShared, .fenced = true});
  EXPECT_EQ(backend_->devices()[0].traits & wire::kDeviceMakesArrays, 0u);
  const auto client = Serve("a");
  const auto array = client->space().CreateArray(ArrayOf(kWidth, kHeight));
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, cuda::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(array.error().text, HasSubstr("TUTTI_ISOLATION=process"));
  EXPECT_FALSE(client->space().CreateTexture(TextureOf(kMebibyte)));
  EXPECT_TRUE(client->Computes());
}

}  // namespace
}  // namespace tutti::device::gpu
