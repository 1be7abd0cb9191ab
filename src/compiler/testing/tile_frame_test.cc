// What warps keep across the barriers of a tiled product.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "compiler/pipeline.h"

namespace tutti::compiler {
namespace {

// Adds up the row of a tile in shared memory, as many elements of it as are given, tile after tile.
std::string SumOfRows(int elements) {
  std::string sum;
  for (int i = 0; i < elements; ++i) sum += fmt::format("ld.shared.f32 %a, [%row+{}];\nadd.f32 %f, %f, %a;\n", 4 * i);
  return fmt::format(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 from, .param .u32 tiles)
{{
.reg .b64 %from, %at, %row, %t; .reg .b32 %x, %y, %i, %n; .reg .f32 %a, %f; .reg .pred %p;
.shared .align 4 .b8 tile[1024];
ld.param.u64 %from, [from];
ld.param.u32 %n, [tiles];
mov.u32 %x, %tid.x;
mov.u32 %y, %tid.y;
mul.wide.u32 %t, %y, 64;
mov.u64 %row, tile;
add.u64 %row, %row, %t;
mul.wide.u32 %t, %x, 4;
add.u64 %at, %row, %t;
add.u64 %from, %from, %t;
mov.f32 %f, 0f00000000;
mov.u32 %i, 0;
loop:
ld.global.f32 %a, [%from];
st.shared.f32 [%at], %a;
bar.sync 0;
{}
bar.sync 0;
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, %n;
@%p bra loop;
st.global.f32 [%from], %f;
ret;
}}
)",
                     sum);
}

// The bytes of all frames, from `alloca [N x i8], align 64`.
uint64_t FrameBytes(int elements) {
  const std::string text = SumOfRows(elements);
  const auto image = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, 80);
  EXPECT_TRUE(image) << image.error().text;
  const auto code =
      (*image)->Compile("k", {.block = {16, 16, 1}, .target = HostTarget::Detect(), .until = Stage::kOptimizedIr});
  EXPECT_TRUE(code) << code.error().text;
  const std::string ir(code->begin(), code->end());
  const size_t begin = ir.find("alloca [");
  return begin == std::string::npos ? 0 : std::stoull(ir.substr(begin + 8));
}

TEST(TileFrame, DoesNotGrowWithTheElementsOfARow) {
  ASSERT_GT(FrameBytes(2), 0);
  EXPECT_EQ(FrameBytes(16), FrameBytes(2));
}

}  // namespace
}  // namespace tutti::compiler
