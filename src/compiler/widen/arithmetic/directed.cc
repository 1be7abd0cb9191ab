// Rounding to odd is what a number may go through on its way to a narrower one without being rounded twice: it is the
// one of the two neighbours whose last bit is set, unless the result is exact. Rounded down and up, an inexact result
// gives both neighbours, whose last bits differ, and an exact one the same number twice. So the choice is a test of one
// bit. Where they are -0 and +0 it takes the second, which is what a sum of nothing is to nearest, and beyond the
// largest number, whose last bit is set, it takes that one: it becomes infinite where it is rounded.
#include "compiler/widen/arithmetic/directed.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <optional>

#include "compiler/widen/arithmetic/by_registers.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// _MM_FROUND_*, with _MM_FROUND_NO_EXC.
enum class Direction : uint32_t { kDown = 9, kUp = 10, kZero = 11 };

struct Operation {
  llvm::Intrinsic::ID of_floats, of_doubles;
};

std::optional<Operation> OperationOf(llvm::StringRef name) {
  if (name == "fma")
    return Operation{llvm::Intrinsic::x86_avx512_vfmadd_ps_512, llvm::Intrinsic::x86_avx512_vfmadd_pd_512};
  if (name == "div") return Operation{llvm::Intrinsic::x86_avx512_div_ps_512, llvm::Intrinsic::x86_avx512_div_pd_512};
  if (name == "sqrt")
    return Operation{llvm::Intrinsic::x86_avx512_sqrt_ps_512, llvm::Intrinsic::x86_avx512_sqrt_pd_512};
  return std::nullopt;
}

std::optional<Direction> DirectionOf(llvm::StringRef name) {
  if (name == "rm") return Direction::kDown;
  if (name == "rp") return Direction::kUp;
  if (name == "rz") return Direction::kZero;
  return std::nullopt;
}

Value* Rounded(llvm::IRBuilder<>& builder, Operation operation, Direction direction, const UpToThree& operands) {
  UpToThree arguments = operands;
  arguments.push_back(builder.getInt32(static_cast<uint32_t>(direction)));
  const bool floats = operands[0]->getType()->getScalarType()->isFloatTy();
  return builder.CreateIntrinsic(floats ? operation.of_floats : operation.of_doubles, {}, arguments);
}

Value* RoundedToOdd(llvm::IRBuilder<>& builder, Operation operation, const UpToThree& operands) {
  Value* down = Rounded(builder, operation, Direction::kDown, operands);
  Value* up = Rounded(builder, operation, Direction::kUp, operands);
  Value* bits = builder.CreateBitCast(down, down->getType()->getWithNewType(builder.getInt32Ty()));
  Value* last = builder.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), 1));
  return builder.CreateSelect(builder.CreateICmpNE(last, llvm::Constant::getNullValue(bits->getType())), down, up);
}

}  // namespace

bool EmitDirected(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef name) {
  if (!emitter.module().options.avx512) return false;
  const auto [what, rest] = name.split('.');
  const llvm::StringRef rounding = rest.split('.').first;
  const std::optional<Operation> operation = OperationOf(what);
  const std::optional<Direction> direction = DirectionOf(rounding);
  if (!operation || (!direction && rounding != "odd")) return false;
  llvm::IRBuilder<>& builder = emitter.builder();
  UpToThree operands;
  for (const Value* argument : call.args()) operands.push_back(emitter.values().Vector(argument));
  Value* result = ByRegisters(builder, operands, [&](const UpToThree& slices) {
    return direction ? Rounded(builder, *operation, *direction, slices) : RoundedToOdd(builder, *operation, slices);
  });
  const bool uniform = emitter.shape(&call).is_uniform();
  emitter.Define(call, {uniform ? builder.CreateExtractElement(result, uint64_t{0}) : result});
  return true;
}

}  // namespace tutti::compiler
