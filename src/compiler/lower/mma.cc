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
  T element;
  size_t left, right, sums;
};
constexpr Product kProducts[] = {
    {M::kM16n8k16, "m16n8k16", T::kF32, T::kF16, 4, 2, 4}, {M::kM16n8k16, "m16n8k16", T::kF32, T::kBF16, 4, 2, 4},
    {M::kM16n8k16, "m16n8k16", T::kF16, T::kF16, 4, 2, 2}, {M::kM16n8k8, "m16n8k8", T::kF32, T::kF16, 2, 1, 4},
    {M::kM16n8k8, "m16n8k8", T::kF32, T::kBF16, 2, 1, 4},  {M::kM16n8k8, "m16n8k8", T::kF16, T::kF16, 2, 1, 2},
    {M::kM16n8k8, "m16n8k8", T::kF32, T::kTF32, 4, 2, 4},  {M::kM16n8k4, "m16n8k4", T::kF32, T::kTF32, 2, 1, 4},
    {M::kM8n8k4, "m8n8k4", T::kF64, T::kF64, 1, 1, 2},     {M::kM16n8k32, "m16n8k32", T::kS32, T::kS8, 4, 2, 4},
    {M::kM16n8k16, "m16n8k16", T::kS32, T::kS8, 2, 1, 4},  {M::kM8n8k16, "m8n8k16", T::kS32, T::kS8, 1, 1, 2},
};

bool IsByte(T type) { return type == T::kS8 || type == T::kU8; }

const Product* ProductOf(std::string_view shape, const MatrixTypes& types) {
  for (const Product& product : kProducts) {
    const bool same_element = IsByte(product.element) ? IsByte(types.a) && IsByte(types.b)
                                                      : types.a == product.element && types.b == product.element;
    if (product.name == shape && product.accumulator == types.d && types.c == types.d && same_element) return &product;
  }
  return nullptr;
}

std::vector<llvm::Value*> Read(Emitter& e, size_t operand, T type) {
  std::vector<llvm::Value*> values;
  for (const ptx::Operand* element : e.Elements(e.operand(operand))) values.push_back(e.Read(*element, type));
  return values;
}

}  // namespace

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
  std::string name =
      "tutti.mma." + shape + "." + std::string(ptx::NameOf(types.d)) + "." + std::string(ptx::NameOf(types.a));
  if (IsByte(types.a)) name += "." + std::string(ptx::NameOf(types.b));
  std::vector<llvm::Value*> arguments = factors.left;
  arguments.insert(arguments.end(), factors.right.begin(), factors.right.end());
  // A product of bytes cannot overflow, the sum can: with .satfinite the runtime adds to zero and the sum is clamped
  // here.
  const bool clamps = e.Has(M::kSatfinite) && types.d == T::kS32;
  std::vector<llvm::Type*> result_types;
  for (llvm::Value* sum : factors.sums) {
    arguments.push_back(clamps ? llvm::Constant::getNullValue(sum->getType()) : sum);
    result_types.push_back(sum->getType());
  }
  llvm::Value* result = e.Call(name, llvm::StructType::get(e.context(), result_types), arguments, Effect::kWarp);
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
  const auto result =
      MultiplyAccumulate(e, product->name, types, {Read(e, 1, factor), Read(e, 2, factor), Read(e, 3, accumulator)});
  const auto destinations = e.Elements(e.operand(0));
  if (destinations.size() != result.size()) return e.Invalid("a matrix fragment has another number of registers");
  for (size_t i = 0; i < result.size(); ++i) e.Write(*destinations[i], result[i], accumulator);
}

}  // namespace tutti::compiler::lowering
