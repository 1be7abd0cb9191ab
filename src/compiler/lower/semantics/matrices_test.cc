// wmma of every shape, type and layout, and mma with ldmatrix, against a product computed by the host. The numbers are
// small integers, so that every type holds them and every order of summation is exact.
#include <gtest/gtest.h>

#include "compiler/lower/semantics/host_math.h"
#include "compiler/testing/test_module.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

const std::string kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";

struct Element {
  const char* ptx;  // "f16"
  const char* reg;  // register type of a fragment
  uint32_t bytes;
  std::vector<uint8_t> (*encode)(int value);
};

template <typename T>
std::vector<uint8_t> Bytes(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
const Element kF16Element = {"f16", "b32", 2, [](int v) { return Bytes(Encode(v, kF16)); }};
const Element kBf16Element = {"bf16", "b32", 2, [](int v) { return Bytes(Encode(v, kBf16)); }};
const Element kTf32Element = {"tf32", "b32", 4, [](int v) { return Bytes(static_cast<float>(v)); }};
const Element kF32Element = {"f32", "f32", 4, [](int v) { return Bytes(static_cast<float>(v)); }};
const Element kF64Element = {"f64", "f64", 8, [](int v) { return Bytes(static_cast<double>(v)); }};
const Element kS8Element = {"s8", "b32", 1, [](int v) { return Bytes(static_cast<int8_t>(v)); }};
const Element kU8Element = {"u8", "b32", 1, [](int v) { return Bytes(static_cast<uint8_t>(v)); }};
const Element kS32Element = {"s32", "b32", 4, [](int v) { return Bytes(v); }};

struct Case {
  uint32_t m, n, k;
  const Element* factor;
  const Element* sum;
  int a_registers, b_registers, c_registers;
};
const Case kCases[] = {
    {16, 16, 16, &kF16Element, &kF32Element, 8, 8, 8}, {32, 8, 16, &kF16Element, &kF32Element, 8, 8, 8},
    {8, 32, 16, &kF16Element, &kF32Element, 8, 8, 8},  {16, 16, 16, &kF16Element, &kF16Element, 8, 8, 4},
    {8, 32, 16, &kF16Element, &kF16Element, 8, 8, 4},  {16, 16, 16, &kBf16Element, &kF32Element, 4, 4, 8},
    {32, 8, 16, &kBf16Element, &kF32Element, 8, 2, 8}, {8, 32, 16, &kBf16Element, &kF32Element, 2, 8, 8},
    {16, 16, 8, &kTf32Element, &kF32Element, 4, 4, 8}, {8, 8, 4, &kF64Element, &kF64Element, 1, 1, 2},
    {16, 16, 16, &kS8Element, &kS32Element, 2, 2, 8},  {32, 8, 16, &kU8Element, &kS32Element, 4, 1, 8},
    {8, 32, 16, &kS8Element, &kS32Element, 1, 4, 8},
};

// A matrix in memory, with a leading dimension longer than it needs.
struct Matrix {
  uint32_t rows, columns, stride;
  bool row_major;
  const Element* element;
  std::vector<uint8_t> bytes;

  Matrix(uint32_t r, uint32_t c, bool row, const Element* e)
      : rows(r),
        columns(c),
        stride((row ? c : r) + 16),
        row_major(row),
        element(e),
        bytes(stride * (row ? r : c) * e->bytes) {}
  size_t At(uint32_t r, uint32_t c) const {
    return (row_major ? r * stride + c : c * stride + r) * size_t{element->bytes};
  }
  void Set(uint32_t r, uint32_t c, int value) {
    const auto encoded = element->encode(value);
    std::copy(encoded.begin(), encoded.end(), bytes.begin() + static_cast<ptrdiff_t>(At(r, c)));
  }
};

int ValueOf(const Case& test, char which, uint32_t row, uint32_t column) {
  const int value = static_cast<int>((row * 7 + column * 5 + static_cast<uint32_t>(which)) % 11);
  return test.factor == &kU8Element ? value : value - 5;
}

std::string List(const char* prefix, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, i);
  return list + "}";
}

std::string Text(const Case& test, const char* a_layout, const char* b_layout, const char* c_layout) {
  const std::string shape = fmt::format("m{}n{}k{}", test.m, test.n, test.k);
  const std::string types = test.factor == &kF16Element ? fmt::format("{}.{}", test.sum->ptx, test.sum->ptx)
                                                        : fmt::format("{}.{}.{}.{}", test.sum->ptx, test.factor->ptx,
                                                                      test.factor->ptx, test.sum->ptx);
  const char* sum_register = test.sum == &kF16Element ? "b32" : test.sum->reg;
  std::string text = kHead +
                     ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 lda, .param .u32 ldb, "
                     ".param .u32 ldc) {\n";
  text += fmt::format(".reg .{} %a<8>, %b<8>;\n.reg .{} %c<8>;\n.reg .b64 %p<3>;\n.reg .b32 %s<3>;\n", test.factor->reg,
                      sum_register);
  text +=
      "ld.param.u64 %p0, [a];\nld.param.u64 %p1, [b];\nld.param.u64 %p2, [c];\nld.param.u32 %s0, [lda];\nld.param.u32 "
      "%s1, [ldb];\nld.param.u32 %s2, [ldc];\n";
  text += fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%p0], %s0;\n", a_layout, shape, test.factor->ptx,
                      List("a", test.a_registers));
  text += fmt::format("wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%p1], %s1;\n", b_layout, shape, test.factor->ptx,
                      List("b", test.b_registers));
  text += fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%p2], %s2;\n", c_layout, shape, test.sum->ptx,
                      List("c", test.c_registers));
  text += fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", a_layout, b_layout, shape, types,
                      List("c", test.c_registers), List("a", test.a_registers), List("b", test.b_registers),
                      List("c", test.c_registers));
  text += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%p2], {}, %s2;\nret;\n}}\n", c_layout, shape,
                      test.sum->ptx, List("c", test.c_registers));
  return text;
}

void Multiply(const Case& test, bool a_rows, bool b_rows, bool c_rows) {
  const auto layout = [](bool rows) { return rows ? "row" : "col"; };
  Matrix a(test.m, test.k, a_rows, test.factor), b(test.k, test.n, b_rows, test.factor),
      c(test.m, test.n, c_rows, test.sum);
  Matrix expected = c;
  for (uint32_t i = 0; i < test.m; ++i) {
    for (uint32_t j = 0; j < test.n; ++j) {
      int sum = ValueOf(test, 'c', i, j);
      c.Set(i, j, sum);
      for (uint32_t k = 0; k < test.k; ++k) sum += ValueOf(test, 'a', i, k) * ValueOf(test, 'b', k, j);
      expected.Set(i, j, sum);
    }
  }
  for (uint32_t k = 0; k < test.k; ++k) {
    for (uint32_t i = 0; i < test.m; ++i) a.Set(i, k, ValueOf(test, 'a', i, k));
    for (uint32_t j = 0; j < test.n; ++j) b.Set(k, j, ValueOf(test, 'b', k, j));
  }
  const std::string text = Text(test, layout(a_rows), layout(b_rows), layout(c_rows));
  auto module = TestModule::Open(text);
  ASSERT_TRUE(module) << module.error().text;
  GridLaunch launch;
  launch.block = {32, 1, 1};
  launch.Param(a.bytes.data())
      .Param(b.bytes.data())
      .Param(c.bytes.data())
      .Param(a.stride)
      .Param(b.stride)
      .Param(c.stride);
  const auto result = module->Run("k", launch);
  ASSERT_TRUE(result) << result.error().text;
  ASSERT_FALSE(result->fault);
  EXPECT_EQ(c.bytes, expected.bytes) << text;
}

TEST(Matrices, EveryShapeAndTypeMultiplies) {
  for (const Case& test : kCases) Multiply(test, true, false, true);
}

TEST(Matrices, LayoutsInMemoryAreFree) {
  for (const Case& test : {kCases[0], kCases[2], kCases[7], kCases[12]}) {
    Multiply(test, false, true, false);
    Multiply(test, true, true, false);
  }
}

// ldmatrix gives mma its operands; .trans those of a matrix that lies the other way round.
TEST(Matrices, LdmatrixFeedsMma) {
  const std::string text = kHead + R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d) {
  .shared .align 16 .b8 as[512];
  .shared .align 16 .b8 bs[256];
  .reg .b32 %r<20>; .reg .b64 %p<6>; .reg .f32 %f<4>; .reg .pred %q;
  ld.param.u64 %p0, [a]; ld.param.u64 %p1, [b]; ld.param.u64 %p2, [d];
  mov.u32 %r0, %tid.x;
  // A: 16 rows of 16 halves; B: 16 rows (k) of 8 halves. Each lane copies 16 bytes of A and 8 of B.
  shl.b32 %r1, %r0, 4; cvt.u64.u32 %p3, %r1; add.u64 %p3, %p0, %p3;
  mov.u32 %r2, as; add.u32 %r2, %r2, %r1;
  cp.async.cg.shared.global [%r2], [%p3], 16;
  shl.b32 %r3, %r0, 3; cvt.u64.u32 %p4, %r3; add.u64 %p4, %p1, %p4;
  mov.u32 %r4, bs; add.u32 %r4, %r4, %r3;
  cp.async.ca.shared.global [%r4], [%p4], 8;
  cp.async.commit_group; cp.async.wait_group 0;
  bar.sync 0;
  // Row address of A for this lane: matrices are rows 0-7 and 8-15 of columns 0-7, then of columns 8-15.
  and.b32 %r5, %r0, 15; shr.u32 %r6, %r0, 4; shl.b32 %r5, %r5, 5; shl.b32 %r6, %r6, 4;
  mov.u32 %r7, as; add.u32 %r7, %r7, %r5; add.u32 %r7, %r7, %r6;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8, %r9, %r10, %r11}, [%r7];
  and.b32 %r12, %r0, 15; shl.b32 %r12, %r12, 4;
  mov.u32 %r13, bs; add.u32 %r13, %r13, %r12;
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r13];
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r8, %r9, %r10, %r11}, {%r14, %r15}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
  // D[g][2t], D[g][2t+1], D[g+8][...] of 16 x 8 floats
  shr.u32 %r16, %r0, 2; shl.b32 %r16, %r16, 5; and.b32 %r17, %r0, 3; shl.b32 %r17, %r17, 3; add.u32 %r16, %r16, %r17;
  cvt.u64.u32 %p5, %r16; add.u64 %p5, %p2, %p5;
  st.global.v2.f32 [%p5], {%f0, %f1};
  st.global.v2.f32 [%p5+256], {%f2, %f3};
  ret;
}
)";
  std::vector<uint16_t> a(256), b(128);
  std::vector<float> d(128), expected(128);
  const auto number = [](uint32_t i) { return static_cast<int>(i * 37 % 13) - 6; };
  for (uint32_t i = 0; i < 256; ++i) a[i] = Encode(number(i), kF16);
  for (uint32_t i = 0; i < 128; ++i) b[i] = Encode(number(i + 5), kF16);
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t j = 0; j < 8; ++j) {
      int sum = 0;
      for (uint32_t k = 0; k < 16; ++k) sum += number(i * 16 + k) * number(k * 8 + j + 5);
      expected[i * 8 + j] = static_cast<float>(sum);
    }
  }
  auto module = TestModule::Open(text);
  ASSERT_TRUE(module) << module.error().text;
  GridLaunch launch;
  launch.block = {32, 1, 1};
  launch.Param(a.data()).Param(b.data()).Param(d.data());
  const auto result = module->Run("k", launch);
  ASSERT_TRUE(result) << result.error().text;
  EXPECT_EQ(d, expected);
}

}  // namespace
}  // namespace tutti::compiler
