#include "compiler/lower/semantics/statements.h"

#include <gtest/gtest.h>

#include "compiler/testing/test_module.h"
#include "fmt/format.h"

namespace tutti::compiler {
namespace {

constexpr uint32_t kThreads = 64;
constexpr size_t kMaxReported = 4;  // differences per statement

const char* RegisterType(Slot slot) {
  switch (slot) {
    case Slot::kWord16: return "b16";
    case Slot::kWord32: return "b32";
    case Slot::kWord64: return "b64";
    case Slot::kFloat: return "f32";
    case Slot::kDouble: return "f64";
    default: return "pred";
  }
}

// Everything lies in memory as 64 bits; the low ones count.
std::string LoadArgument(Slot slot, const char* name, size_t offset) {
  if (slot == Slot::kPredicate) {
    return fmt::format("  ld.global.u32 %word, [%table+{}];\n  setp.ne.u32 {}, %word, 0;\n", offset, name);
  }
  return fmt::format("  ld.global.{} {}, [%table+{}];\n", RegisterType(slot), name, offset);
}

std::string StoreResult(Slot slot) {
  if (slot == Slot::kPredicate) return "  selp.u32 %word, 1, 0, %d;\n  st.global.u32 [%out], %word;\n";
  return fmt::format("  st.global.{} [%out], %d;\n", RegisterType(slot));
}

std::string Show(Slot slot, uint64_t bits) {
  float single;
  double wide;
  switch (slot) {
    case Slot::kFloat: std::memcpy(&single, &bits, sizeof single); return fmt::format("{:a} (0x{:08x})", single, bits);
    case Slot::kDouble: std::memcpy(&wide, &bits, sizeof wide); return fmt::format("{:a} (0x{:016x})", wide, bits);
    default: return fmt::format("0x{:x}", bits);
  }
}

bool Same(Slot slot, uint64_t got, uint64_t expected, double tolerance) {
  if (got == expected) return true;
  if (slot != Slot::kFloat && slot != Slot::kDouble) return false;
  const auto value = [slot](uint64_t bits) {
    float single;
    double wide;
    std::memcpy(&single, &bits, sizeof single);
    std::memcpy(&wide, &bits, sizeof wide);
    return slot == Slot::kFloat ? single : wide;
  };
  const double a = value(got), b = value(expected);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return tolerance > 0 && std::abs(a - b) <= tolerance * std::max(std::abs(b), 1e-3);
}

}  // namespace

// One block of code per statement, skipped by threads beyond its inputs. The parameters are a table of three words per
// statement: inputs, outputs, count; inputs of one thread stand together.
std::string Statements::KernelText() const {
  std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 table) {\n";
  text +=
      "  .reg .pred %beyond;\n  .reg .b32 %index, %limit, %r<3>, %word;\n  .reg .b64 %rows, %table, %out, %offset;\n";
  text += "  ld.param.u64 %rows, [table];\n  mov.u32 %r0, %ctaid.x;\n  mov.u32 %r1, %ntid.x;\n  mov.u32 %r2, %tid.x;\n";
  text += "  mad.lo.u32 %index, %r0, %r1, %r2;\n";
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    static constexpr const char* kNames[] = {"%a", "%b", "%c", "%e"};
    text += "  {\n";
    text += fmt::format("  .reg .{} %d, %x<4>;\n  .reg .pred %p<2>;\n", RegisterType(row.result));
    for (size_t a = 0; a < row.arguments.size(); ++a)
      text += fmt::format("  .reg .{} {};\n", RegisterType(row.arguments[a]), kNames[a]);
    text += fmt::format("  ld.global.u64 %table, [%rows+{}];\n  ld.global.u64 %out, [%rows+{}];\n", 24 * i, 24 * i + 8);
    text += fmt::format(
        "  ld.global.u32 %limit, [%rows+{}];\n  setp.ge.u32 %beyond, %index, %limit;\n  @%beyond bra SKIP{};\n",
        24 * i + 16, i);
    text += fmt::format("  mul.wide.u32 %offset, %index, {};\n  add.u64 %table, %table, %offset;\n",
                        8 * row.arguments.size());
    text += "  mul.wide.u32 %offset, %index, 8;\n  add.u64 %out, %out, %offset;\n";
    for (size_t a = 0; a < row.arguments.size(); ++a) text += LoadArgument(row.arguments[a], kNames[a], 8 * a);
    text += "  " + row.text + "\n" + StoreResult(row.result);
    text += fmt::format("SKIP{}:\n  }}\n", i);
  }
  return text + "  ret;\n}\n";
}

void Statements::Check() {
  auto module = TestModule::Open(KernelText());
  ASSERT_TRUE(module) << module.error().text;
  std::vector<std::vector<uint64_t>> inputs;
  std::vector<uint64_t> table;
  size_t most = 0;
  for (Row& row : rows_) {
    auto& values = inputs.emplace_back();
    for (size_t i = 0; i < row.count; ++i) {
      for (const auto& argument : row.inputs) values.push_back(argument[i]);
    }
    row.outputs.assign(row.count, 0);
    table.push_back(reinterpret_cast<uint64_t>(values.data()));
    table.push_back(reinterpret_cast<uint64_t>(row.outputs.data()));
    table.push_back(row.count);
    most = std::max(most, row.count);
  }
  GridLaunch launch;
  launch.grid = {static_cast<uint32_t>((most + kThreads - 1) / kThreads), 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.Param(table.data());
  const auto result = module->Run("k", launch);
  ASSERT_TRUE(result) << result.error().text;
  ASSERT_FALSE(result->fault) << "fault at PTX line " << result->fault->ptx_line;
  for (const Row& row : rows_) Compare(row);
}

void Statements::Compare(const Row& row) const {
  size_t wrong = 0;
  for (size_t i = 0; i < row.count; ++i) {
    if (Same(row.result, row.outputs[i], row.expected[i], row.tolerance)) continue;
    if (++wrong > kMaxReported) continue;
    std::string given;
    for (size_t a = 0; a < row.arguments.size(); ++a)
      given += (a == 0 ? "" : ", ") + Show(row.arguments[a], row.inputs[a][i]);
    ADD_FAILURE() << row.text << "\n  of " << given << "\n  is " << Show(row.result, row.outputs[i]) << ", not "
                  << Show(row.result, row.expected[i]);
  }
  EXPECT_LE(wrong, kMaxReported) << row.text << ": " << wrong << " of " << row.count << " are wrong";
}

std::vector<uint16_t> Words16() {
  return {0,    1,     2,      3,      7,      8,      15,     16,     17,     31,     0x7f,  0x80,
          0xff, 0x100, 0x1234, 0x5a5a, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xabcd, 0xfffe, 0xffff};
}

std::vector<uint32_t> Words32() {
  return {0,          1,          2,          3,          7,          8,          15,         16,
          31,         32,         33,         63,         64,         127,        128,        255,
          256,        0x7fff,     0x8000,     0xffff,     0x10000,    0x12345678, 0x3fffffff, 0x55555555,
          0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0x9abcdef0, 0xaaaaaaaa, 0xfffffffe, 0xffffffff};
}

std::vector<uint64_t> Words64() {
  std::vector<uint64_t> words = {0x100000000,        0x100000001,        0x7fffffffffffffff, 0x8000000000000000,
                                 0x8000000000000001, 0x123456789abcdef0, 0xfedcba9876543210, 0xaaaaaaaa55555555,
                                 0x20000000000001,   0x3ffffffffffffe,   0xffffffff00000000, 0xfffffffffffffffe,
                                 0xffffffffffffffff, 0xffffffff80000000};
  for (const uint32_t word : {0u, 1u, 2u, 5u, 31u, 32u, 63u, 64u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0x12345678u})
    words.push_back(word);
  return words;
}

std::vector<float> Floats() {
  using Limits = std::numeric_limits<float>;
  std::vector<float> values = {0.0f,
                               0.5f,
                               1.0f,
                               1.5f,
                               2.0f,
                               2.5f,
                               3.0f,
                               0.1f,
                               1.0f / 3,
                               10.0f,
                               255.5f,
                               65504.0f,
                               65520.0f,
                               16777215.0f,
                               16777216.0f,
                               2147483520.0f,
                               2147483648.0f,
                               4294967296.0f,
                               1e10f,
                               9.2233720e18f,
                               1.8446744e19f,
                               1e-10f,
                               6.1e-5f,
                               5.96e-8f,
                               Limits::min(),
                               Limits::denorm_min(),
                               Limits::max(),
                               0x1.fffffcp-127f,
                               0x1.000002p0f,
                               0x1.fffffep-1f,
                               3.4e38f,
                               1.17e-38f,
                               Limits::infinity()};
  for (size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  return values;
}

std::vector<double> Doubles() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,
                                0.5,
                                1.0,
                                1.5,
                                2.5,
                                3.0,
                                0.1,
                                1.0 / 3,
                                1e3,
                                65519.99,
                                65520.0,
                                2147483647.0,
                                2147483647.5,
                                2147483648.0,
                                4294967295.5,
                                9007199254740993.0,
                                9.223372036854775e18,
                                9.3e18,
                                1.8446744073709552e19,
                                1e38,
                                3.4028235677973366e38,
                                3.5e38,
                                1e-38,
                                1e-45,
                                7e-46,
                                1e-300,
                                0x1.0000010000001p0,
                                0x1.000001p0,
                                0x1.0020000000001p0,
                                0x1.002p0,
                                Limits::min(),
                                Limits::denorm_min(),
                                Limits::max(),
                                Limits::infinity()};
  for (size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
  values.push_back(Limits::quiet_NaN());
  return values;
}

std::vector<float> FewFloats() {
  using Limits = std::numeric_limits<float>;
  return {0.0f,
          -0.0f,
          1.0f,
          -1.5f,
          0x1.000002p0f,
          -0x1.fffffep-1f,
          0.1f,
          3e38f,
          -3e38f,
          Limits::min(),
          -Limits::denorm_min(),
          1e-30f,
          16777217.0f,
          Limits::infinity(),
          Limits::quiet_NaN()};
}

std::vector<double> FewDoubles() {
  using Limits = std::numeric_limits<double>;
  return {0.0,
          -0.0,
          1.0,
          -1.5,
          0x1.0000000000001p0,
          -0x1.fffffffffffffp-1,
          0.1,
          1e308,
          -1e308,
          Limits::min(),
          -Limits::denorm_min(),
          1e-200,
          Limits::infinity(),
          Limits::quiet_NaN()};
}

std::vector<uint16_t> Halves() {
  std::vector<uint16_t> halves = {0,      1,      2,      0x3ff,  0x400,  0x401,  0x1000, 0x2e66,
                                  0x3555, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4248,
                                  0x5640, 0x63ff, 0x6400, 0x7bfe, 0x7bff, 0x7c00};
  for (size_t i = 0, count = halves.size(); i < count; ++i) halves.push_back(halves[i] | 0x8000);
  halves.push_back(0x7e00);
  return halves;
}

}  // namespace tutti::compiler
