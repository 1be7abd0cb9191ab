// mma.sync, and the product that wmma.mma is made of.
#include "compiler/lower/families.h"
#include "compiler/lower/integer.h"
#include "compiler/lower/matrix_product.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

// What compiler/runtime/matrix.cc has: shape, accumulator, element, and registers of each operand.
struct Product {
  M shape;
  const char* name;
  T accumulator;
  T element;  // of a family whose members may differ in A and B, any of them
  size_t left, right, sums;
};
constexpr Product kProducts[] = {
    {M::kM16n8k16, "m16n8k16", T::kF32, T::kF16, 4, 2, 4},  {M::kM16n8k16, "m16n8k16", T::kF32, T::kBF16, 4, 2, 4},
    {M::kM16n8k16, "m16n8k16", T::kF16, T::kF16, 4, 2, 2},  {M::kM16n8k8, "m16n8k8", T::kF32, T::kF16, 2, 1, 4},
    {M::kM16n8k8, "m16n8k8", T::kF32, T::kBF16, 2, 1, 4},   {M::kM16n8k8, "m16n8k8", T::kF16, T::kF16, 2, 1, 2},
    {M::kM16n8k8, "m16n8k8", T::kF32, T::kTF32, 4, 2, 4},   {M::kM16n8k4, "m16n8k4", T::kF32, T::kTF32, 2, 1, 4},
    {M::kM16n8k32, "m16n8k32", T::kF32, T::kE4M3, 4, 2, 4}, {M::kM16n8k32, "m16n8k32", T::kF16, T::kE4M3, 4, 2, 2},
    {M::kM16n8k16, "m16n8k16", T::kF32, T::kE4M3, 2, 1, 4}, {M::kM16n8k16, "m16n8k16", T::kF16, T::kE4M3, 2, 1, 2},
    {M::kM8n8k4, "m8n8k4", T::kF64, T::kF64, 1, 1, 2},      {M::kM16n8k4, "m16n8k4", T::kF64, T::kF64, 2, 1, 4},
    {M::kM16n8k8, "m16n8k8", T::kF64, T::kF64, 4, 2, 4},    {M::kM16n8k16, "m16n8k16", T::kF64, T::kF64, 8, 4, 4},
    {M::kM16n8k32, "m16n8k32", T::kS32, T::kS8, 4, 2, 4},   {M::kM16n8k16, "m16n8k16", T::kS32, T::kS8, 2, 1, 4},
    {M::kM8n8k16, "m8n8k16", T::kS32, T::kS8, 1, 1, 2},     {M::kM16n8k64, "m16n8k64", T::kS32, T::kS4, 4, 2, 4},
    {M::kM16n8k32, "m16n8k32", T::kS32, T::kS4, 2, 1, 4},   {M::kM8n8k32, "m8n8k32", T::kS32, T::kS4, 1, 1, 2},
    {M::kM16n8k256, "m16n8k256", T::kS32, T::kB1, 4, 2, 4}, {M::kM16n8k128, "m16n8k128", T::kS32, T::kB1, 2, 1, 4},
    {M::kM8n8k128, "m8n8k128", T::kS32, T::kB1, 1, 1, 2},
};

// Types that go together as A and B, by one of them; each other stands for itself.
T FamilyOf(T type) {
  if (type == T::kU8) return T::kS8;
  if (type == T::kU4) return T::kS4;
  return type == T::kE5M2 ? T::kE4M3 : type;
}
bool NamesBoth(T family) { return family == T::kS8 || family == T::kS4 || family == T::kE4M3; }

const Product* ProductOf(std::string_view shape, const MatrixTypes& types) {
  for (const Product& product : kProducts) {
    const bool same_element = FamilyOf(types.a) == product.element && FamilyOf(types.b) == product.element;
    if (product.name == shape && product.accumulator == types.d && types.c == types.d && same_element) return &product;
  }
  return nullptr;
}

}  // namespace

std::vector<llvm::Value*> ReadAll(Emitter& e, size_t operand, T type) {
  std::vector<llvm::Value*> values;
  for (const ptx::Operand* element : e.Elements(e.operand(operand))) values.push_back(e.Read(*element, type));
  return values;
}

std::vector<llvm::Value*> MultiplyAccumulate(Emitter& e, const std::string& shape, const MatrixTypes& types,
                                             const MatrixFactors& factors) {
  const Product* product = ProductOf(shape, types);
  if (product == nullptr) {
    e.Refuse("the product of these matrix types is not supported");
    return {};
  }
  if (factors.left.size() != product->left || factors.right.size() != product->right ||
      factors.sums.size() != product->sums) {
    e.Invalid("a matrix fragment has another number of registers");
    return {};
  }
  std::string name = shape + "." + std::string(ptx::NameOf(types.d)) + "." + std::string(ptx::NameOf(types.a));
  if (NamesBoth(product->element)) name += "." + std::string(ptx::NameOf(types.b));
  if (types.a == T::kB1) {
    const bool both = e.Has(M::kAnd);
    if (!e.Has(M::kPopc) || (!both && !e.Has(M::kXor))) e.Invalid("products of bits are .and.popc or .xor.popc");
    name += both ? ".and" : ".xor";
  }
  std::vector<llvm::Value*> arguments = factors.left;
  arguments.insert(arguments.end(), factors.right.begin(), factors.right.end());
  // A product of bytes or nibbles cannot overflow, the sum can: with .satfinite the runtime adds to zero and the sum is
  // clamped here.
  const bool clamps = types.d == T::kS32 && types.a != T::kB1 && e.Has(M::kSatfinite);
  std::vector<llvm::Type*> result_types;
  for (llvm::Value* sum : factors.sums) {
    arguments.push_back(clamps ? llvm::Constant::getNullValue(sum->getType()) : sum);
    result_types.push_back(sum->getType());
  }
  llvm::Value* result =
      e.Call("tutti.mma.", name, llvm::StructType::get(e.context(), result_types), arguments, Effect::kWarp);
  std::vector<llvm::Value*> values;
  for (unsigned i = 0; i < factors.sums.size(); ++i) {
    llvm::Value* value = e.ir.CreateExtractValue(result, i);
    values.push_back(clamps ? SaturatingAddSub(e.ir, value, factors.sums[i], false) : value);
  }
  return values;
}

// mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c
void EmitMma(Emitter& e) {
  if (e.Has(M::kSp) || e.Has(M::kSpOrderedMetadata)) return e.Refuse("sparse matrices are not supported");
  if (IsMmaOfKind(e)) return EmitMmaOfKind(e);
  if (e.instruction().types.size() != 4) return e.Refuse("mma with these types is not supported");
  if (!e.Has(M::kRow) || !e.Has(M::kCol)) return e.Refuse("mma with this layout is not supported");
  const MatrixTypes types{e.type(0), e.type(1), e.type(2), e.type(3)};
  const Product* product = nullptr;
  for (const Product& row : kProducts) {
    if (e.Has(row.shape)) product = &row;
  }
  if (product == nullptr) return e.Refuse("this matrix shape is not supported");
  const T factor = types.a == T::kF64 ? T::kF64 : T::kB32;
  const T accumulator = types.d == T::kF16 ? T::kB32 : types.d;
  const auto result = MultiplyAccumulate(e, product->name, types,
                                         {ReadAll(e, 1, factor), ReadAll(e, 2, factor), ReadAll(e, 3, accumulator)});
  const auto destinations = e.Elements(e.operand(0));
  if (destinations.size() != result.size()) return e.Invalid("a matrix fragment has another number of registers");
  for (size_t i = 0; i < result.size(); ++i) e.Write(*destinations[i], result[i], accumulator);
}

}  // namespace tutti::compiler::lowering
