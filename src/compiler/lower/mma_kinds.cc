// mma with .kind: factors of 4, 6 and 8 bits, each matrix with its own type, and scales for blocks along k.
//
// Every number of e2m1, e2m3 and e3m2 is one of e4m3, so their codes are translated and the product is that of e4m3. A
// block with scales of its own is a product by itself; the order of elements along k does not matter as long as both
// factors have the same.
#include "compiler/lower/families.h"
#include "compiler/lower/float_values.h"
#include "compiler/lower/matrix_product.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// How a magnitude becomes one of e4m3: the first `listed` by a list of bytes, the others by a factor and a sum.
struct Translation {
  T type;
  unsigned shift, width;  // where its code lies in a byte
  unsigned listed;
  uint64_t list;
  uint32_t factor, sum;
};
constexpr Translation kTranslations[] = {
    {T::kE2M1, 2, 4, 8, 0x4c4844403c383000, 0, 0},
    {T::kE2M3, 0, 6, 8, 0x363432302c282000, 1, 48},
    {T::kE3M2, 0, 6, 4, 0x0000000024201800, 2, 32},
};

const Translation* TranslationOf(T type) {
  for (const Translation& translation : kTranslations) {
    if (translation.type == type) return &translation;
  }
  return nullptr;
}

// The code at `place` of a register, as one of e4m3 in i32.
llvm::Value* Translate(Emitter& e, const Translation& translation, llvm::Value* word, unsigned place) {
  auto& ir = e.ir;
  llvm::Value* code = ir.CreateAnd(ir.CreateLShr(word, place), (1u << translation.width) - 1);
  llvm::Value* sign = ir.CreateShl(ir.CreateLShr(code, translation.width - 1), 7);
  llvm::Value* magnitude = ir.CreateAnd(code, (1u << (translation.width - 1)) - 1);
  llvm::Value* at = ir.CreateZExt(ir.CreateShl(ir.CreateAnd(magnitude, 7), 3), ir.getInt64Ty());
  llvm::Value* entry = ir.CreateLShr(ir.getInt64(translation.list), at);
  llvm::Value* small = ir.CreateAnd(ir.CreateTrunc(entry, ir.getInt32Ty()), 0xff);
  llvm::Value* large =
      ir.CreateAdd(ir.CreateMul(magnitude, ir.getInt32(translation.factor)), ir.getInt32(translation.sum));
  llvm::Value* is_small = ir.CreateICmpULT(magnitude, ir.getInt32(translation.listed));
  return ir.CreateOr(ir.CreateSelect(is_small, small, large), sign);
}

// Four codes from `first` on, `step` bits from each to the next, as four bytes of e4m3.
llvm::Value* TranslateFour(Emitter& e, const Translation& translation, llvm::Value* word, unsigned first,
                           unsigned step) {
  llvm::Value* bytes = e.ir.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    llvm::Value* byte = Translate(e, translation, word, first + i * step);
    bytes = e.ir.CreateOr(bytes, e.ir.CreateShl(byte, 8 * i));
  }
  return bytes;
}

// A factor in bytes, and its type changed to what it is translated to.
std::vector<llvm::Value*> ReadBytes(Emitter& e, size_t operand, T* type) {
  std::vector<llvm::Value*> words = ReadAll(e, operand, T::kB32);
  const Translation* translation = TranslationOf(*type);
  if (translation == nullptr) return words;
  for (llvm::Value*& word : words) word = TranslateFour(e, *translation, word, translation->shift, 8);
  *type = T::kE4M3;
  return words;
}

// The scale in a byte, as a double: a power of two (ue8m0) or a number without a sign (ue4m3).
llvm::Value* ScaleOf(Emitter& e, llvm::Value* byte, T type) {
  auto& ir = e.ir;
  llvm::Value* single;
  llvm::Value* is_nan;
  if (type == T::kUE8M0) {
    llvm::Value* bits = ir.CreateSelect(ir.CreateIsNull(byte), ir.getInt32(0x00400000), ir.CreateShl(byte, 23));
    single = ir.CreateBitCast(bits, ir.getFloatTy());
    is_nan = ir.CreateICmpEQ(byte, ir.getInt32(0xff));
  } else {  // 2^8 too small as the upper bits of an f16
    llvm::Value* magnitude = ir.CreateAnd(byte, 0x7f);
    llvm::Value* half = ir.CreateTrunc(ir.CreateShl(magnitude, 7), ir.getInt16Ty());
    single = ir.CreateFMul(F16ToF32(ir, half), llvm::ConstantFP::get(ir.getFloatTy(), 256.0));
    is_nan = ir.CreateICmpEQ(magnitude, ir.getInt32(0x7f));
  }
  single = ir.CreateSelect(is_nan, llvm::ConstantFP::getNaN(ir.getFloatTy()), single);
  return ir.CreateFPExt(single, ir.getDoubleTy());
}

// data, {byte, thread}: the scales of a factor. Those of row r of A lie in lane 4 (r mod 8) + 2 thread + r / 8, those
// of column c of B in lane 4 c + thread, that of block i in byte number byte + i.
class Scales {
 public:
  Scales(Emitter& e, size_t operand, T type) : e_(e), type_(type) {
    data_ = e.In(operand, T::kB32);
    const auto selector = e.Elements(e.operand(operand + 1));
    if (selector.size() != 2) {
      e.Invalid("a scale is selected by a byte and a thread");
      return;
    }
    byte_ = e.ir.CreateZExt(e.Read(*selector[0], T::kU16), e.ir.getInt32Ty());
    thread_ = e.ir.CreateZExt(e.Read(*selector[1], T::kU16), e.ir.getInt32Ty());
  }
  // Row `group`, or the eighth behind it, where the lane's number has its group in it.
  llvm::Value* OfRow(llvm::Value* group, unsigned upper, unsigned block) {
    auto& ir = e_.ir;
    llvm::Value* lane =
        ir.CreateAdd(ir.CreateShl(group, 2), ir.CreateAdd(ir.CreateShl(thread_, 1), ir.getInt32(upper)));
    return At(lane, block);
  }
  llvm::Value* OfColumn(llvm::Value* column, unsigned block) {
    return At(e_.ir.CreateAdd(e_.ir.CreateShl(column, 2), thread_), block);
  }

 private:
  llvm::Value* At(llvm::Value* lane, unsigned block) {
    auto& ir = e_.ir;
    llvm::Value* found = e_.FromLane(data_, lane);
    llvm::Value* place = ir.CreateAnd(ir.CreateShl(ir.CreateAdd(byte_, ir.getInt32(block)), 3), 31);
    return ScaleOf(e_, ir.CreateAnd(ir.CreateLShr(found, place), 0xff), type_);
  }

  Emitter& e_;
  const T type_;
  llvm::Value *data_ = nullptr, *byte_ = nullptr, *thread_ = nullptr;
};

// One block along k: its factors as four and two registers of bytes.
struct Block {
  std::vector<llvm::Value*> left, right;
};

// The blocks of 64 numbers of four bits, two of 32 or four of 16: of the latter each has half of a quad's threads, and
// what the other half holds counts as zero.
std::vector<Block> BlocksOfNibbles(Emitter& e, unsigned count) {
  auto& ir = e.ir;
  const Translation& nibbles = kTranslations[0];
  const auto left = ReadAll(e, 1, T::kB32), right = ReadAll(e, 2, T::kB32);
  if (left.size() != 4 || right.size() != 2) {
    e.Invalid("a matrix fragment has another number of registers");
    return {};
  }
  const auto half = [&](llvm::Value* word, unsigned upper) { return TranslateFour(e, nibbles, word, 16 * upper, 4); };
  std::vector<Block> blocks;
  for (unsigned i = 0; i < 2; ++i) {
    const Block whole = {
        {half(left[2 * i], 0), half(left[2 * i + 1], 0), half(left[2 * i], 1), half(left[2 * i + 1], 1)},
        {half(right[i], 0), half(right[i], 1)}};
    if (count == 2) {
      blocks.push_back(whole);
      continue;
    }
    llvm::Value* is_upper = ir.CreateIsNotNull(ir.CreateAnd(e.CallI32("tutti.laneid"), 2));
    for (unsigned part = 0; part < 2; ++part) {
      Block block = whole;
      for (llvm::Value*& word : block.left) {
        word = part == 0 ? ir.CreateSelect(is_upper, ir.getInt32(0), word)
                         : ir.CreateSelect(is_upper, word, ir.getInt32(0));
      }
      blocks.push_back(block);
    }
  }
  return blocks;
}

// d = sum over blocks of (block of A * block of B) * scale of the row * scale of the column, + c, rounded once at the
// end.
void EmitScaled(Emitter& e, const std::vector<Block>& blocks, MatrixTypes types, T scale_type) {
  auto& ir = e.ir;
  const auto targets = e.Elements(e.operand(0));
  const auto sums = ReadAll(e, 3, T::kF32);
  if (types.d != T::kF32 || types.c != T::kF32) return e.Invalid("scaled products are summed in .f32");
  if (targets.size() != 4 || sums.size() != 4 || e.operands() != 8)
    return e.Invalid("another number of operands is needed");
  Scales rows(e, 4, scale_type), columns(e, 6, scale_type);
  if (e.refused()) return;
  llvm::Value* group = ir.CreateLShr(e.CallI32("tutti.laneid"), 2);
  llvm::Value* first_column = ir.CreateShl(ir.CreateAnd(e.CallI32("tutti.laneid"), 3), 1);
  std::vector<llvm::Value*> totals;
  for (llvm::Value* sum : sums) totals.push_back(ir.CreateFPExt(sum, ir.getDoubleTy()));
  const std::vector<llvm::Value*> zeros(4, llvm::ConstantFP::get(ir.getFloatTy(), 0.0));
  for (unsigned block = 0; block < blocks.size(); ++block) {
    const auto products = MultiplyAccumulate(e, "m16n8k32", types, {blocks[block].left, blocks[block].right, zeros});
    if (products.size() != 4) return;
    for (unsigned i = 0; i < 4; ++i) {
      llvm::Value* column = ir.CreateAdd(first_column, ir.getInt32(i % 2));
      llvm::Value* scaled =
          ir.CreateFMul(ir.CreateFPExt(products[i], ir.getDoubleTy()), rows.OfRow(group, i / 2, block));
      totals[i] = ir.CreateFAdd(totals[i], ir.CreateFMul(scaled, columns.OfColumn(column, block)));
    }
  }
  for (unsigned i = 0; i < 4; ++i) e.Write(*targets[i], ir.CreateFPTrunc(totals[i], ir.getFloatTy()), T::kF32);
}

}  // namespace

bool IsMmaOfKind(const Emitter& e) {
  return e.Has(M::kKindF8f6f4) || e.Has(M::kKindMxf8f6f4) || e.Has(M::kKindMxf4) || e.Has(M::kKindMxf4nvf4);
}

// mma.sync.aligned.shape.row.col.kind{.block_scale}{.scale_vec}.dtype.atype.btype.ctype{.stype} d, a, b, c
//     {, scales of A, {byte, thread}, scales of B, {byte, thread}}
void EmitMmaOfKind(Emitter& e) {
  const bool scales = e.Has(M::kBlockScale);
  if (!e.Has(M::kRow) || !e.Has(M::kCol)) return e.Invalid("mma with .kind multiplies rows by columns");
  if (e.instruction().types.size() != (scales ? 5u : 4u)) return e.Invalid("mma with another number of types");
  MatrixTypes types{e.type(0), e.type(1), e.type(2), e.type(3)};
  const T scale_type = e.type(4);
  if (scales && scale_type != T::kUE8M0 && scale_type != T::kUE4M3) return e.Invalid("scales are .ue8m0 or .ue4m3");
  if (e.Has(M::kKindMxf4) || e.Has(M::kKindMxf4nvf4)) {
    const bool of_sixteen = e.Has(M::kScaleVec4X);
    const bool known = e.Has(M::kM16n8k64) && types.a == T::kE2M1 && types.b == T::kE2M1 && scales;
    if (!known || (of_sixteen && e.Has(M::kKindMxf4))) return e.Invalid("no such product of .e2m1");
    static_cast<void>(e.Has(M::kScaleVec2X));
    types.a = types.b = T::kE4M3;
    return EmitScaled(e, BlocksOfNibbles(e, of_sixteen ? 4 : 2), types, scale_type);
  }
  if (!e.Has(M::kM16n8k32) || scales != e.Has(M::kKindMxf8f6f4)) return e.Invalid("no such product");
  const Block block{ReadBytes(e, 1, &types.a), ReadBytes(e, 2, &types.b)};
  static_cast<void>(e.Has(M::kScaleVec1X));
  if (scales) return EmitScaled(e, {block}, types, scale_type);
  const T accumulator = types.d == T::kF16 ? T::kB32 : types.d;
  const auto result = MultiplyAccumulate(e, "m16n8k32", types, {block.left, block.right, ReadAll(e, 3, accumulator)});
  const auto targets = e.Elements(e.operand(0));
  if (targets.size() != result.size()) return e.Invalid("a matrix fragment has another number of registers");
  for (size_t i = 0; i < result.size(); ++i) e.Write(*targets[i], result[i], accumulator);
}

}  // namespace tutti::compiler::lowering
