// wmma.load, wmma.store, wmma.mma: see matrix_layout.h for the layout of fragments.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"
#include "compiler/lower/matrix_layout.h"
#include "compiler/lower/matrix_product.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// A matrix in memory.
struct Memory {
  llvm::Value* base;
  llvm::Value* stride;  // i32, elements between neighbours across the leading dimension
  uint32_t element_bits;
  uint32_t element_bytes() const { return element_bits / 8; }
};

// `lead` counts within a run of contiguous elements, `across` counts runs.
llvm::Value* ElementPointer(Emitter& e, const Memory& memory, llvm::Value* across, llvm::Value* lead) {
  auto& ir = e.ir;
  llvm::Value* index = ir.CreateSExt(ir.CreateAdd(ir.CreateMul(across, memory.stride), lead), ir.getInt64Ty());
  return ir.CreateGEP(ir.getInt8Ty(), memory.base, ir.CreateMul(index, ir.getInt64(memory.element_bytes())));
}

Memory MemoryOf(Emitter& e, size_t address, size_t stride, uint32_t default_stride, T element) {
  Memory memory{};
  memory.base = e.Pointer(e.operand(address), e.instruction().space);
  memory.stride = e.operands() > stride ? e.In(stride, T::kU32) : e.ir.getInt32(default_stride);
  memory.element_bits = ptx::BitsOf(element);
  return memory;
}

// One register of a factor: neighbours along K, which lie side by side in memory or `stride` apart. The lanes load the
// block together.
llvm::Value* LoadFactorRegister(Emitter& e, const Memory& memory, const FactorCorner& corner, bool k_contiguous) {
  auto& ir = e.ir;
  const auto bytes_of = [&](llvm::Value* elements) {
    llvm::Value* bits = ir.CreateMul(elements, ir.getInt64(memory.element_bits));
    return ir.CreateLShr(bits, 3);
  };
  llvm::Value* stride = ir.CreateZExt(memory.stride, ir.getInt64Ty());
  llvm::Value* row = ir.getInt64(k_contiguous ? corner.outer : corner.inner);
  llvm::Value* lead = ir.getInt64(k_contiguous ? corner.inner : corner.outer);
  llvm::Value* first = ir.CreateAdd(bytes_of(ir.CreateMul(row, stride)), bytes_of(lead));
  // Neighbours along K that lie side by side are moved as words, whatever they are.
  const unsigned bits = k_contiguous ? std::max(memory.element_bits, 32u) : memory.element_bits;
  llvm::Value* at = ir.CreateGEP(ir.getInt8Ty(), memory.base, first);
  const std::string block = (k_contiguous ? "along." : "across.") + std::to_string(bits) + ".p" +
                            std::to_string(at->getType()->getPointerAddressSpace());
  return e.Call("tutti.matrix_load.", block, bits == 64 ? ir.getDoubleTy() : ir.getInt32Ty(), {at, bytes_of(stride)},
                Effect::kWarpLoad);
}

// wmma.load.{a,b}: {registers}, [address]{, stride}. Registers beyond those that our layout needs are zero.
void LoadFactor(Emitter& e, const WmmaShape& shape, bool is_a) {
  const auto destinations = e.Elements(e.operand(0));
  const bool row = e.Has(M::kRow);
  const bool k_contiguous = is_a == row;
  if (ptx::BitsOf(e.type()) < 8 && !k_contiguous) return e.Invalid("small elements are .row in A and .col in B");
  const uint32_t lead = k_contiguous ? shape.k : is_a ? shape.m : shape.n;
  const Memory memory = MemoryOf(e, 1, 2, lead, e.type());
  const bool left = is_a != shape.transposed;
  const MatrixRole role = left ? MatrixRole::kLeft : MatrixRole::kRight;
  const uint32_t per_tile = left ? shape.mma.left_registers() : shape.mma.right_registers();
  const uint32_t used = per_tile * (left ? shape.left_tiles : shape.right_tiles);
  if (destinations.size() < used) return e.Invalid("too few registers for the fragment");
  const T type = e.type() == T::kF64 ? T::kF64 : T::kB32;
  for (uint32_t r = 0; r < destinations.size(); ++r) {
    if (r >= used) {
      e.Write(*destinations[r], e.Zero(type), type);
      continue;
    }
    const FactorCorner corner = CornerOfFactor(shape.mma, role, r / per_tile, r % per_tile);
    e.Write(*destinations[r], LoadFactorRegister(e, memory, corner, k_contiguous), type);
  }
}

// Calls visit(element number, pointer) for each element of the accumulator that a lane holds.
template <typename Visit>
void ForAccumulator(Emitter& e, const WmmaShape& shape, const Memory& memory, Visit visit) {
  uint32_t number = 0;
  for (uint32_t left = 0; left < shape.left_tiles; ++left) {
    for (uint32_t right = 0; right < shape.right_tiles; ++right) {
      for (uint32_t i = 0; i < shape.mma.accumulators(); ++i) {
        MatrixPosition position = PositionOfAccumulator(e, left, right, i);
        const bool rows_first = e.Has(M::kRow) != shape.transposed;
        llvm::Value* at = rows_first ? ElementPointer(e, memory, position.outer, position.inner)
                                     : ElementPointer(e, memory, position.inner, position.outer);
        visit(number++, at);
      }
    }
  }
}

// wmma.load.c: {registers}, [address]{, stride}; halves are packed in pairs.
void LoadAccumulator(Emitter& e, const WmmaShape& shape) {
  const auto destinations = e.Elements(e.operand(0));
  const bool halves = e.type() == T::kF16;
  const Memory memory = MemoryOf(e, 1, 2, e.Has(M::kRow) ? shape.n : shape.m, e.type());
  const llvm::Align alignment(memory.element_bytes());
  const uint32_t elements = shape.mma.accumulators() * shape.left_tiles * shape.right_tiles;
  if (destinations.size() != (halves ? elements / 2 : elements)) return e.Invalid("the fragment has another size");
  llvm::Value* low = nullptr;
  ForAccumulator(e, shape, memory, [&](uint32_t i, llvm::Value* at) {
    llvm::Value* value = e.ir.CreateAlignedLoad(TypeOf(e.context(), e.type()), at, alignment);
    if (!halves) return e.Write(*destinations[i], value, e.type());
    value = e.ir.CreateZExt(value, e.ir.getInt32Ty());
    if (i % 2 == 0) {
      low = value;
    } else {
      e.Write(*destinations[i / 2], e.ir.CreateOr(low, e.ir.CreateShl(value, 16)), T::kB32);
    }
  });
}

// wmma.store.d: [address], {registers}{, stride}
void StoreAccumulator(Emitter& e, const WmmaShape& shape) {
  const auto sources = e.Elements(e.operand(1));
  const bool halves = e.type() == T::kF16;
  const Memory memory = MemoryOf(e, 0, 2, e.Has(M::kRow) ? shape.n : shape.m, e.type());
  const llvm::Align alignment(memory.element_bytes());
  const uint32_t elements = shape.mma.accumulators() * shape.left_tiles * shape.right_tiles;
  if (sources.size() != (halves ? elements / 2 : elements)) return e.Invalid("the fragment has another size");
  ForAccumulator(e, shape, memory, [&](uint32_t i, llvm::Value* at) {
    llvm::Value* value = halves ? e.Read(*sources[i / 2], T::kB32) : e.Read(*sources[i], e.type());
    if (halves) value = e.ir.CreateTrunc(e.ir.CreateLShr(value, 16 * (i % 2)), e.ir.getInt16Ty());
    e.ir.CreateAlignedStore(value, at, alignment);
  });
}

std::vector<llvm::Value*> Slice(const std::vector<llvm::Value*>& values, uint32_t first, uint32_t count) {
  if (first + count > values.size()) return {};
  return {values.begin() + first, values.begin() + first + count};
}

// C in the type of D, where one is of halves and the other of floats: halves are packed in pairs. Into halves this
// rounds twice, C and the sum; the ISA leaves the precision of sums open.
std::vector<llvm::Value*> ConvertAccumulator(Emitter& e, const MatrixTypes& types) {
  auto& ir = e.ir;
  std::vector<llvm::Value*> converted;
  if (types.c == T::kF16 && types.d == T::kF32) {
    for (llvm::Value* pair : ReadAll(e, 3, T::kB32)) {
      for (unsigned part = 0; part < 2; ++part) {
        converted.push_back(F16ToF32(ir, ir.CreateTrunc(ir.CreateLShr(pair, 16 * part), ir.getInt16Ty())));
      }
    }
  } else if (types.c == T::kF32 && types.d == T::kF16) {
    const auto floats = ReadAll(e, 3, T::kF32);
    for (size_t i = 0; i + 1 < floats.size(); i += 2) {
      llvm::Value* low = ir.CreateZExt(F32ToF16(ir, floats[i], Rounding::kNearest), ir.getInt32Ty());
      llvm::Value* high = ir.CreateZExt(F32ToF16(ir, floats[i + 1], Rounding::kNearest), ir.getInt32Ty());
      converted.push_back(ir.CreateOr(low, ir.CreateShl(high, 16)));
    }
  } else {
    e.Refuse("accumulators of these two types");
  }
  return converted;
}

// wmma.mma: d, a, b, c
void Multiply(Emitter& e) {
  // .dtype.ctype for f16 factors, .dtype.atype.btype.ctype for all others.
  const bool four = e.instruction().types.size() == 4;
  const MatrixTypes types{e.type(0), four ? e.type(1) : T::kF16, four ? e.type(2) : T::kF16, e.type(four ? 3 : 1)};
  const auto shape = WmmaShapeOf(e, types.a);
  if (!shape) return e.Refuse("this matrix shape is not supported");
  const T factor = types.a == T::kF64 ? T::kF64 : T::kB32;
  const T accumulator = types.d == T::kF16 ? T::kB32 : types.d;
  const auto left = ReadAll(e, shape->transposed ? 2 : 1, factor);
  const auto right = ReadAll(e, shape->transposed ? 1 : 2, factor);
  const auto sums = types.c == types.d ? ReadAll(e, 3, accumulator) : ConvertAccumulator(e, types);
  const auto destinations = e.Elements(e.operand(0));
  const uint32_t per_tile = types.d == T::kF16 ? shape->mma.accumulators() / 2 : shape->mma.accumulators();
  MatrixTypes product_types = types;
  product_types.c = types.d;
  if (shape->transposed) std::swap(product_types.a, product_types.b);
  if (destinations.size() != per_tile * shape->left_tiles * shape->right_tiles)
    return e.Invalid("the fragment has another size");
  for (uint32_t l = 0; l < shape->left_tiles; ++l) {
    for (uint32_t r = 0; r < shape->right_tiles; ++r) {
      const uint32_t first = (l * shape->right_tiles + r) * per_tile;
      const MatrixFactors factors{Slice(left, l * shape->mma.left_registers(), shape->mma.left_registers()),
                                  Slice(right, r * shape->mma.right_registers(), shape->mma.right_registers()),
                                  Slice(sums, first, per_tile)};
      const auto result = MultiplyAccumulate(e, shape->mma.shape, product_types, factors);
      for (uint32_t i = 0; i < result.size(); ++i) e.Write(*destinations[first + i], result[i], accumulator);
    }
  }
}

// The element type that decides the shape's layout, of a load or store of an accumulator: any that has this shape.
std::optional<WmmaShape> AccumulatorShape(Emitter& e) {
  if (e.type() == T::kF64) return WmmaShapeOf(e, T::kF64);
  if (e.Has(M::kM16n16k8)) return WmmaShapeOf(e, T::kTF32);
  if (e.Has(M::kM8n8k32)) return WmmaShapeOf(e, T::kS4);
  if (e.Has(M::kM8n8k128)) return WmmaShapeOf(e, T::kB1);
  return WmmaShapeOf(e, T::kF16);
}

}  // namespace

void EmitWmma(Emitter& e) {
  if (e.Has(M::kMma)) return Multiply(e);
  const bool is_factor = e.Has(M::kLoad) && (e.Has(M::kA) || e.Has(M::kB));
  const auto shape = is_factor ? WmmaShapeOf(e, e.type()) : AccumulatorShape(e);
  if (!shape) return e.Refuse("this matrix shape is not supported");
  if (is_factor) return LoadFactor(e, *shape, e.Has(M::kA));
  if (e.Has(M::kLoad)) return LoadAccumulator(e, *shape);
  if (e.Has(M::kStore)) return StoreAccumulator(e, *shape);
  e.Refuse("this matrix instruction is not supported");
}

}  // namespace tutti::compiler::lowering
