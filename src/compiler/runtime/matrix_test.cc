// mma of the guest runtime against the definition: where each element lies by the PTX ISA, and what the product is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/runtime/vector_function.h"

namespace tutti::compiler {
namespace {

using Registers = std::vector<std::array<uint32_t, 32>>;

// Position of element `element` of a lane in a matrix of the kind: written down from the ISA's tables, not as matrix.cc
// computes it.
struct Position {
  int row, column;
};
Position PositionInA(int lane, int element, int rows, int per) {
  const int g = lane / 4, t = lane % 4, halves = rows / 8, part = element % per, reg = element / per;
  return {g + 8 * (reg % halves), t * per + part + 4 * per * (reg / halves)};
}
Position PositionInB(int lane, int element, int per) {
  const int g = lane / 4, t = lane % 4, part = element % per, reg = element / per;
  return {t * per + part + 4 * per * reg, g};
}
Position PositionInC(int lane, int element) { return {lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2}; }

struct MmaShape {
  int rows, depth, per;  // per: elements in a register
};

// Fills the fragments of A and B from matrices by `encode(value)` -> bits of one element.
template <typename Value, typename Encode>
Registers Fragment(const MmaShape& shape, bool is_a, const std::vector<Value>& matrix, Encode encode) {
  const int elements = (is_a ? shape.rows : 8) * shape.depth / 32, bits = 32 / shape.per;
  Registers registers(static_cast<size_t>(elements / shape.per));
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < elements; ++e) {
      const Position at = is_a ? PositionInA(lane, e, shape.rows, shape.per) : PositionInB(lane, e, shape.per);
      const Value value = matrix[static_cast<size_t>(at.row * (is_a ? shape.depth : 8) + at.column)];
      registers[static_cast<size_t>(e / shape.per)][static_cast<size_t>(lane)] |= static_cast<uint32_t>(encode(value))
                                                                                  << (e % shape.per * bits);
    }
  }
  return registers;
}

std::vector<int> RandomMatrix(int count, int low, int high, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> values(static_cast<size_t>(count));
  for (int& value : values) value = low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  return values;
}

struct Range {
  int low = 0, high = 0;
};

// Runs the function on integer matrices (exact in every type) and compares every element of D = A B + C.
template <typename EncodeA, typename EncodeB, typename EncodeC, typename DecodeD>
void Check(const std::string& name, const MmaShape& shape, const std::string& accumulator, int low, int high,
           int sum_registers, EncodeA encode_a, EncodeB encode_b, EncodeC encode_c, DecodeD decode_d,
           const HostTarget& target = HostTarget::Detect(), Range of_b = {}) {
  if (of_b.high == 0) of_b = {low < 0 ? low : 0, high};
  const auto a = RandomMatrix(shape.rows * shape.depth, low, high, 1),
             b = RandomMatrix(shape.depth * 8, of_b.low, of_b.high, 2);
  const auto c = RandomMatrix(shape.rows * 8, -8, 8, 3);
  Registers fragment_a = Fragment(shape, true, a, encode_a), fragment_b = Fragment(shape, false, b, encode_b);
  const int sums = shape.rows * 8 / 32, per = sums / sum_registers;
  Registers fragment_c(static_cast<size_t>(sum_registers)), fragment_d(static_cast<size_t>(sum_registers));
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < sums; ++e) {
      const Position at = PositionInC(lane, e);
      fragment_c[static_cast<size_t>(e / per)][static_cast<size_t>(lane)] |=
          encode_c(c[static_cast<size_t>(at.row * 8 + at.column)]) << (e % per * 16);
    }
  }
  std::vector<std::string> types(fragment_a.size() + fragment_b.size(), "i32"),
      results(static_cast<size_t>(sum_registers), accumulator);
  types.insert(types.end(), results.begin(), results.end());
  const auto function = VectorFunction::Compile(name, results, types, target);
  ASSERT_TRUE(function) << function.error().text;
  std::vector<const void*> arguments;
  for (const Registers* fragment : {&fragment_a, &fragment_b, &fragment_c}) {
    for (const auto& one : *fragment) arguments.push_back(one.data());
  }
  std::vector<void*> outputs;
  for (auto& one : fragment_d) outputs.push_back(one.data());
  function->Call(outputs, arguments);
  for (int lane = 0; lane < 32; ++lane) {
    for (int e = 0; e < sums; ++e) {
      const Position at = PositionInC(lane, e);
      int expected = c[static_cast<size_t>(at.row * 8 + at.column)];
      for (int k = 0; k < shape.depth; ++k)
        expected += a[static_cast<size_t>(at.row * shape.depth + k)] * b[static_cast<size_t>(k * 8 + at.column)];
      const double got =
          decode_d(fragment_d[static_cast<size_t>(e / per)][static_cast<size_t>(lane)] >> (e % per * 16));
      ASSERT_EQ(got, expected) << name << " row " << at.row << " column " << at.column;
    }
  }
}

uint32_t HalfBits(int value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
uint32_t BrainBits(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16; }
uint32_t FloatBits(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint32_t ByteBits(int value) { return static_cast<uint32_t>(value) & 255; }
uint32_t WordBits(int value) { return static_cast<uint32_t>(value); }
double FloatValue(uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
double HalfValue(uint32_t bits) { return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))); }
double WordValue(uint32_t bits) { return static_cast<int32_t>(bits); }

TEST(Matrix, HalvesIntoFloats) {
  Check("tutti_mma_m16n8k16_f32_f16", {16, 16, 2}, "float", -9, 9, 4, HalfBits, HalfBits, FloatBits, FloatValue);
  Check("tutti_mma_m16n8k8_f32_f16", {16, 8, 2}, "float", -9, 9, 4, HalfBits, HalfBits, FloatBits, FloatValue);
}

TEST(Matrix, HalvesIntoHalves) {
  Check("tutti_mma_m16n8k16_f16_f16", {16, 16, 2}, "i32", -5, 5, 2, HalfBits, HalfBits, HalfBits, HalfValue);
  Check("tutti_mma_m16n8k8_f16_f16", {16, 8, 2}, "i32", -5, 5, 2, HalfBits, HalfBits, HalfBits, HalfValue);
}

TEST(Matrix, BrainFloatsAndTf32) {
  Check("tutti_mma_m16n8k16_f32_bf16", {16, 16, 2}, "float", -9, 9, 4, BrainBits, BrainBits, FloatBits, FloatValue);
  Check("tutti_mma_m16n8k8_f32_bf16", {16, 8, 2}, "float", -9, 9, 4, BrainBits, BrainBits, FloatBits, FloatValue);
  Check("tutti_mma_m16n8k8_f32_tf32", {16, 8, 1}, "float", -9, 9, 4, FloatBits, FloatBits, FloatBits, FloatValue);
  Check("tutti_mma_m16n8k4_f32_tf32", {16, 4, 1}, "float", -9, 9, 4, FloatBits, FloatBits, FloatBits, FloatValue);
}

// With the instruction that a processor may have for them (link/byte_products.h), and without.
TEST(Matrix, BytesIntoWords) {
  for (const HostTarget& target : {HostTarget::Detect(), HostTarget::Named("x86-64-v2")}) {
    for (const bool a_signed : {true, false}) {
      for (const bool b_signed : {true, false}) {
        const std::string types = std::string(a_signed ? "s8_" : "u8_") + (b_signed ? "s8" : "u8");
        const Range of_a = a_signed ? Range{-128, 127} : Range{0, 255},
                    of_b = b_signed ? Range{-128, 127} : Range{0, 255};
        const auto check = [&](const std::string& shape, const MmaShape& of, int registers) {
          Check("tutti_mma_" + shape + "_s32_" + types, of, "i32", of_a.low, of_a.high, registers, ByteBits, ByteBits,
                WordBits, WordValue, target, of_b);
        };
        check("m16n8k32", {16, 32, 4}, 4);
        check("m16n8k16", {16, 16, 4}, 4);
        check("m8n8k16", {8, 16, 4}, 2);
      }
    }
  }
}

// Integers of few bits are exact in both 8-bit formats.
uint32_t E4M3Bits(int value) {
  if (value == 0) return 0;
  const uint32_t half = HalfBits(value);
  return (half >> 8 & 128) | (((half & 0x7fff) - (8u << 10)) >> 7);
}
uint32_t E5M2Bits(int value) { return HalfBits(value) >> 8; }

TEST(Matrix, EightBitFloats) {
  for (const bool a_large : {true, false}) {
    for (const bool b_large : {true, false}) {
      const std::string types = std::string(a_large ? "e5m2_" : "e4m3_") + (b_large ? "e5m2" : "e4m3");
      const auto a = a_large ? E5M2Bits : E4M3Bits, b = b_large ? E5M2Bits : E4M3Bits;
      Check("tutti_mma_m16n8k32_f32_" + types, {16, 32, 4}, "float", -4, 4, 4, a, b, FloatBits, FloatValue);
      Check("tutti_mma_m16n8k16_f32_" + types, {16, 16, 4}, "float", -4, 4, 4, a, b, FloatBits, FloatValue);
      Check("tutti_mma_m16n8k32_f16_" + types, {16, 32, 4}, "i32", -4, 4, 2, a, b, HalfBits, HalfValue);
      Check("tutti_mma_m16n8k16_f16_" + types, {16, 16, 4}, "i32", -4, 4, 2, a, b, HalfBits, HalfValue);
    }
  }
}

TEST(Matrix, NibblesIntoWords) {
  const auto nibble = [](int value) { return static_cast<uint32_t>(value) & 15; };
  for (const bool a_signed : {true, false}) {
    for (const bool b_signed : {true, false}) {
      const std::string types = std::string(a_signed ? "s4_" : "u4_") + (b_signed ? "s4" : "u4");
      const int low = a_signed && b_signed ? -8 : 0, high = a_signed || b_signed ? 7 : 15;
      Check("tutti_mma_m16n8k64_s32_" + types, {16, 64, 8}, "i32", low, high, 4, nibble, nibble, WordBits, WordValue);
      Check("tutti_mma_m16n8k32_s32_" + types, {16, 32, 8}, "i32", low, high, 4, nibble, nibble, WordBits, WordValue);
      Check("tutti_mma_m8n8k32_s32_" + types, {8, 32, 8}, "i32", low, high, 2, nibble, nibble, WordBits, WordValue);
    }
  }
}

TEST(Matrix, BitsThatBothHaveAreCounted) {
  const auto bit = [](int value) { return static_cast<uint32_t>(value); };
  Check("tutti_mma_m16n8k256_s32_b1_and", {16, 256, 32}, "i32", 0, 1, 4, bit, bit, WordBits, WordValue);
  Check("tutti_mma_m16n8k128_s32_b1_and", {16, 128, 32}, "i32", 0, 1, 4, bit, bit, WordBits, WordValue);
  Check("tutti_mma_m8n8k128_s32_b1_and", {8, 128, 32}, "i32", 0, 1, 2, bit, bit, WordBits, WordValue);
}

TEST(Matrix, Doubles) {
  const auto function = VectorFunction::Compile("tutti_mma_m8n8k4_f64_f64", {"double", "double"},
                                                {"double", "double", "double", "double"}, HostTarget::Detect());
  ASSERT_TRUE(function) << function.error().text;
  double a[32], b[32], c0[32], c1[32], d0[32], d1[32];
  for (int lane = 0; lane < 32; ++lane) {  // A[g][t], B[t][g], C[g][2 t + i]
    a[lane] = lane * 3 - 20;
    b[lane] = 7 - lane;
    c0[lane] = lane;
    c1[lane] = -lane;
  }
  function->Call({d0, d1}, {a, b, c0, c1});
  for (int lane = 0; lane < 32; ++lane) {
    const int row = lane / 4, column = lane % 4 * 2;
    double even = c0[lane], odd = c1[lane];
    for (int k = 0; k < 4; ++k) {
      even += a[row * 4 + k] * b[column * 4 + k];
      odd += a[row * 4 + k] * b[(column + 1) * 4 + k];
    }
    EXPECT_EQ(d0[lane], even);
    EXPECT_EQ(d1[lane], odd);
  }
}

}  // namespace
}  // namespace tutti::compiler
