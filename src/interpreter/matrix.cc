// mma: the fragments as the ISA lays them out. A register holds e elements; lane l is in group g = l / 4 as number t =
// l % 4.
//   A: register r is row g (odd r of 16 rows: g + 8), columns from t * e in the r-th (r / 2-th) stretch of 4 * e
//   B: register r is column g, rows from t * e in the r-th stretch of 4 * e
//   C, D: element i is row g + 8 * (i / 2), column 2 * t + i % 2
#include "interpreter/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "interpreter/families.h"

namespace tutti::interpreter {

uint32_t ElementBits(Type type) { return type == Type::kTF32 ? 32 : ptx::BitsOf(type); }

double ElementValue(Type type, uint64_t bits) {
  if (type == Type::kTF32) return ToDouble(kTf32, bits >> 13);
  if (const FloatFormat* format = FormatOf(type)) return ToDouble(*format, bits);
  return ptx::IsSigned(type) ? static_cast<double>(SignExtend(bits, ptx::BitsOf(type))) : static_cast<double>(bits);
}

uint64_t ElementBitsOf(Type type, double value, bool saturate) {
  if (const FloatFormat* format = FormatOf(type)) return FromDouble(*format, value, Rounding::kNearestEven);
  auto number = static_cast<int64_t>(value);
  if (saturate) number = std::clamp<int64_t>(number, INT32_MIN, INT32_MAX);
  return LowBits(static_cast<uint64_t>(number), 32);
}

Matrix MultiplyAccumulate(Matrix& a, Matrix& b, Matrix& c, Product product) {
  Matrix d = c;
  for (uint32_t row = 0; row < a.rows; ++row) {
    for (uint32_t column = 0; column < b.columns; ++column) {
      for (uint32_t k = 0; k < a.columns; ++k) {
        const double x = a.at(row, k), y = b.at(k, column);
        d.at(row, column) += product == Product::kXorPopc ? (x != y ? 1 : 0) : x * y;
      }
    }
  }
  return d;
}

MmaShape MmaShapeOf(Step& step) {
  struct Row {
    Modifier modifier;
    MmaShape shape;
  };
  static constexpr Row kRows[] = {
      {Modifier::kM8n8k16, {8, 8, 16}},     {Modifier::kM8n8k32, {8, 8, 32}},   {Modifier::kM8n8k128, {8, 8, 128}},
      {Modifier::kM16n8k4, {16, 8, 4}},     {Modifier::kM16n8k8, {16, 8, 8}},   {Modifier::kM16n8k16, {16, 8, 16}},
      {Modifier::kM16n8k32, {16, 8, 32}},   {Modifier::kM16n8k64, {16, 8, 64}}, {Modifier::kM16n8k128, {16, 8, 128}},
      {Modifier::kM16n8k256, {16, 8, 256}}, {Modifier::kM16n16k8, {16, 16, 8}}, {Modifier::kM16n16k16, {16, 16, 16}},
      {Modifier::kM32n8k16, {32, 8, 16}},   {Modifier::kM8n32k16, {8, 32, 16}}, {Modifier::kM8n8k4, {8, 8, 4}},
  };
  MmaShape shape{};
  for (const Row& row : kRows) {
    if (step.Has(row.modifier)) shape = row.shape;
  }
  return shape;
}

namespace {

// mma with .block_scale: a row of A and a column of B have a scale for each block along k. The scale of row r of A
// comes from lane 4 * (r % 8) + 2 * t + r / 8, that of column c of B from lane 4 * c + t, where {byte, t} is the
// selector behind the scales; of block i it is byte `byte` + i.
double ScaleOf(Meeting& meeting, uint32_t lane, size_t operand, uint32_t thread_factor, uint32_t block, Type type) {
  Step& asked = meeting.any();
  const auto selector = asked.Elements(asked.in.operands[operand + 1]);
  const uint64_t byte = asked.Get(selector[0], Type::kU16), thread = asked.Get(selector[1], Type::kU16);
  const uint64_t scales = meeting.lane(lane + thread_factor * static_cast<uint32_t>(thread))->Get(operand, Type::kB32);
  const uint64_t bits = scales >> (8 * (byte + block)) & 0xff;
  if (type == Type::kUE8M0) return bits == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
  return ToDouble(kE4M3, bits & 0x7f);
}

// A and B, each element multiplied with the scale of its block.
void ApplyScales(Meeting& meeting, Matrix& a, Matrix& b, uint32_t blocks, Type type) {
  for (uint32_t k = 0; k < a.columns; ++k) {
    const uint32_t block = k * blocks / a.columns;
    for (uint32_t row = 0; row < a.rows; ++row)
      a.at(row, k) *= ScaleOf(meeting, 4 * (row % 8) + row / 8, 4, 2, block, type);
    for (uint32_t column = 0; column < b.columns; ++column)
      b.at(k, column) *= ScaleOf(meeting, 4 * column, 6, 1, block, type);
  }
}

}  // namespace

void MatrixMultiply(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync, Modifier::kAligned, Modifier::kRow, Modifier::kCol, Modifier::kPopc});
  const MmaShape shape = MmaShapeOf(asked);
  const Type d_type = asked.type(0), a_type = asked.type(1), b_type = asked.type(2), c_type = asked.type(3);
  if (shape.m == 0 || (shape.k == 4 && shape.m == 8 && a_type == Type::kF16)) return asked.Refuse("this shape");
  const bool saturate = asked.Has(Modifier::kSatfinite);
  // Of these kinds each element has a byte; e2m1 lies in its middle.
  const bool in_bytes = asked.Has(Modifier::kKindF8f6f4) || asked.Has(Modifier::kKindMxf8f6f4);
  const bool nibbles = asked.Has(Modifier::kKindMxf4) || asked.Has(Modifier::kKindMxf4nvf4),
             scaled = asked.Has(Modifier::kBlockScale);
  asked.Accept({Modifier::kScaleVec1X, Modifier::kScaleVec2X});
  const uint32_t blocks = asked.Has(Modifier::kScaleVec4X) ? 4 : nibbles ? 2 : 1;
  const Product product = asked.Has(Modifier::kXor)   ? Product::kXorPopc
                          : asked.Has(Modifier::kAnd) ? Product::kAndPopc
                                                      : Product::kMultiply;
  Matrix a(shape.m, shape.k), b(shape.k, shape.n), c(shape.m, shape.n);
  // Calls f(row or column, place along k, bits) for every element of A or B that a lane holds.
  const auto elements = [&](Step& step, size_t operand, Type type, bool two_row_blocks, auto f) {
    const uint32_t lane = step.thread.lane(), bits = ElementBits(type), place = in_bytes ? 8 : bits,
                   per = place >= 32 ? 1 : 32 / place;
    const uint32_t low = in_bytes && type == Type::kE2M1 ? 2 : 0;
    const auto registers = step.Elements(step.in.operands[operand]);
    for (uint32_t r = 0; r < registers.size(); ++r) {
      const uint64_t word = static_cast<uint64_t>(step.Wide(registers[r], type));
      const uint32_t across = lane / 4 + (two_row_blocks ? 8 * (r % 2) : 0), stretch = two_row_blocks ? r / 2 : r;
      for (uint32_t j = 0; j < per; ++j)
        f(across, stretch * 4 * per + lane % 4 * per + j, LowBits(word >> (place * j + low), bits));
    }
  };
  meeting.ForEach([&](uint32_t lane, Step& step) {
    elements(step, 1, a_type, shape.m == 16,
             [&](uint32_t row, uint32_t k, uint64_t bits) { a.at(row, k) = ElementValue(a_type, bits); });
    elements(step, 2, b_type, false,
             [&](uint32_t column, uint32_t k, uint64_t bits) { b.at(k, column) = ElementValue(b_type, bits); });
    const auto registers = step.Elements(step.in.operands[3]);
    const uint32_t per = c_type == Type::kF16 ? 2 : 1;
    for (uint32_t i = 0; i < registers.size() * per; ++i) {
      const uint64_t word = static_cast<uint64_t>(step.Wide(registers[i / per], c_type));
      const uint32_t bits = ElementBits(c_type);
      c.at(lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2) =
          ElementValue(c_type, LowBits(word >> (per == 2 ? 16 * (i % 2) : 0), bits));
    }
  });
  if (scaled) ApplyScales(meeting, a, b, blocks, asked.type(4));
  Matrix d = MultiplyAccumulate(a, b, c, product);
  meeting.ForEach([&](uint32_t lane, Step& step) {
    const auto registers = step.Elements(step.in.operands[0]);
    const uint32_t per = d_type == Type::kF16 ? 2 : 1;
    for (uint32_t r = 0; r < registers.size(); ++r) {
      uint64_t word = 0;
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t i = r * per + j;
        word |= ElementBitsOf(d_type, d.at(lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2), saturate) << (16 * j);
      }
      step.PutWide(registers[r], word);
    }
  });
}

}  // namespace tutti::interpreter
