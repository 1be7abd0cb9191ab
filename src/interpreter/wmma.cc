// wmma: fragments in an order of our own, since a program may only load, multiply and store them. Element e of a
// matrix, row by row, is in lane e % 32, place e / 32; what is left of a fragment's registers stays unused.
#include <algorithm>
#include <cstring>

#include "interpreter/families.h"
#include "interpreter/matrix.h"

namespace tutti::interpreter {
namespace {

struct Fragment {
  uint32_t rows, columns;
  Type type;
};

Fragment FragmentOf(Step& step, const MmaShape& shape, Type type) {
  if (step.Has(Modifier::kA)) return {shape.m, shape.k, type};
  if (step.Has(Modifier::kB)) return {shape.k, shape.n, type};
  step.Accept({Modifier::kC, Modifier::kD});
  return {shape.m, shape.n, type};
}

uint32_t PerRegister(Type type) { return ptx::BitsOf(type) == 64 ? 1 : 32 / ElementBits(type); }

Matrix Gather(Meeting& meeting, size_t operand, const Fragment& fragment) {
  Matrix matrix(fragment.rows, fragment.columns);
  const uint32_t per = PerRegister(fragment.type), bits = ElementBits(fragment.type);
  meeting.ForEach([&](uint32_t lane, Step& step) {
    const auto registers = step.Elements(step.in.operands[operand]);
    for (uint32_t i = 0; i < registers.size() * per; ++i) {
      const uint32_t element = i * kWarpSize + lane;
      if (element >= matrix.values.size()) break;
      const auto word = static_cast<uint64_t>(step.Wide(registers[i / per], fragment.type));
      matrix.values[element] = ElementValue(fragment.type, LowBits(word >> (bits * (i % per)), bits));
    }
  });
  return matrix;
}

void Scatter(Meeting& meeting, size_t operand, const Fragment& fragment, const Matrix& matrix, bool saturate) {
  const uint32_t per = PerRegister(fragment.type), bits = ElementBits(fragment.type);
  meeting.ForEach([&](uint32_t lane, Step& step) {
    const auto registers = step.Elements(step.in.operands[operand]);
    for (uint32_t r = 0; r < registers.size(); ++r) {
      uint64_t word = 0;
      for (uint32_t j = 0; j < per; ++j) {
        const uint32_t element = (r * per + j) * kWarpSize + lane;
        if (element >= matrix.values.size()) break;
        uint64_t value = ElementBitsOf(fragment.type, matrix.values[element], saturate);
        if (fragment.type == Type::kTF32) value <<= 13;
        word |= LowBits(value, bits) << (bits * j);
      }
      step.PutWide(registers[r], word);
    }
  });
}

}  // namespace

void MatrixFragments(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync, Modifier::kAligned});
  const MmaShape shape = MmaShapeOf(asked);
  if (shape.m == 0) return asked.Refuse("this shape");
  const bool loads = asked.Has(Modifier::kLoad), stores = asked.Has(Modifier::kStore);
  const bool first_by_columns = asked.Has(Modifier::kCol);
  asked.Accept({Modifier::kRow, Modifier::kMma, Modifier::kPopc});
  if (!loads && !stores) {
    const bool simple = asked.in.types.size() == 2;  // D and C: f16 by f16
    const Type d_type = asked.type(0), c_type = asked.last_type();
    const Type a_type = simple ? Type::kF16 : asked.type(1), b_type = simple ? Type::kF16 : asked.type(2);
    Matrix a = Gather(meeting, 1, {shape.m, shape.k, a_type}), b = Gather(meeting, 2, {shape.k, shape.n, b_type});
    Matrix c = Gather(meeting, 3, {shape.m, shape.n, c_type});
    const Product product = asked.Has(Modifier::kXor)   ? Product::kXorPopc
                            : asked.Has(Modifier::kAnd) ? Product::kAndPopc
                                                        : Product::kMultiply;
    return Scatter(meeting, 0, {shape.m, shape.n, d_type}, MultiplyAccumulate(a, b, c, product),
                   asked.Has(Modifier::kSatfinite));
  }
  const Type type = asked.last_type();
  const Fragment fragment = FragmentOf(asked, shape, type);
  const Operand& address = asked.in.operands[loads ? 1 : 0];
  const bool strided = asked.count() > 2;
  const uint64_t stride = strided ? asked.Get(2, Type::kU32) : first_by_columns ? fragment.rows : fragment.columns;
  const uint32_t bits = ElementBits(type);
  const uint64_t base = asked.Address(address);
  const auto place = [&](uint32_t element) {
    const uint64_t row = element / fragment.columns, column = element % fragment.columns;
    return (first_by_columns ? column * stride + row : row * stride + column) * bits;
  };
  Matrix matrix = loads ? Matrix(fragment.rows, fragment.columns) : Gather(meeting, 1, fragment);
  for (uint32_t element = 0; element < matrix.values.size(); ++element) {
    const uint64_t at_bit = place(element), bytes = std::max<uint64_t>(bits / 8, 1);
    uint8_t* at = asked.Locate(asked.SpaceOf(address), base + at_bit / 8, bytes, bits >= 8 ? bytes : 1, &address);
    if (at == nullptr) return;
    uint64_t value = 0;
    if (loads) {
      std::memcpy(&value, at, bytes);
      matrix.values[element] = ElementValue(type, LowBits(value >> (at_bit % 8), bits));
    } else {
      value = ElementBitsOf(type, matrix.values[element], false);
      std::memcpy(at, &value, bytes);
    }
  }
  if (loads) Scatter(meeting, 0, fragment, matrix, false);
}

}  // namespace tutti::interpreter
