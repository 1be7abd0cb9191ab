#include "compiler/widen/arithmetic/approximations.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/runtime/approximations.h"
#include "compiler/widen/arithmetic/by_registers.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;
namespace numbers = guest_runtime::approximations;

constexpr uint32_t kNearest = 8;             // _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC
constexpr uint32_t kNearOne = 3 | 2 << 2;    // of VGETMANTPS: from 3/4 to 3/2, and NaN of what is negative
constexpr uint32_t kCurrentRounding = 4;     // _MM_FROUND_CUR_DIRECTION

class Register {
 public:
  Register(llvm::IRBuilder<>& builder, Value* x) : builder_(builder), x_(x) {}

  Value* PowerOfTwo() {
    Value* whole = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x_);
    Value* fraction = Unmasked(llvm::Intrinsic::x86_avx512_mask_reduce_ps_512, {x_, builder_.getInt32(kNearest)});
    return Unmasked(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {Horner(fraction, numbers::kPowerOfTwo), whole});
  }

  Value* Logarithm() {
    Value* one = Constant(1.0f);
    Value* m = Unmasked(llvm::Intrinsic::x86_avx512_mask_getmant_ps_512, {x_, builder_.getInt32(kNearOne)});
    Value* exponent = Unmasked(llvm::Intrinsic::x86_avx512_mask_getexp_ps_512, {x_});  // where m is below one, one less
    exponent = builder_.CreateSelect(builder_.CreateFCmpOLT(m, one), builder_.CreateFAdd(exponent, one), exponent);
    Value* t = builder_.CreateFSub(m, one);
    return MulAdd(t, Horner(t, numbers::kLogarithm), exponent);
  }

 private:
  Value* Constant(float value) { return llvm::ConstantFP::get(x_->getType(), value); }
  Value* MulAdd(Value* a, Value* b, Value* c) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {x_->getType()}, {a, b, c});
  }

  template <size_t kCount>
  Value* Horner(Value* x, const float (&coefficients)[kCount]) {
    Value* sum = Constant(coefficients[0]);
    for (size_t i = 1; i < kCount; ++i) sum = MulAdd(sum, x, Constant(coefficients[i]));
    return sum;
  }

  Value* Unmasked(llvm::Intrinsic::ID id, llvm::SmallVector<Value*, 6> operands) {
    operands.append(
        {llvm::Constant::getNullValue(x_->getType()), builder_.getInt16(0xffff), builder_.getInt32(kCurrentRounding)});
    return builder_.CreateIntrinsic(id, {}, operands);
  }

  llvm::IRBuilder<>& builder_;
  Value* x_;
};

}  // namespace

bool EmitApproximation(FunctionEmitter& emitter, const llvm::CallInst& call, llvm::StringRef name) {
  const bool power = name == "ex2.f32";
  if (!emitter.module().options.avx512 || (!power && name != "lg2.f32")) return false;
  llvm::IRBuilder<>& builder = emitter.builder();
  const bool uniform = emitter.shape(&call).is_uniform();
  const auto function = [&](const UpToThree& slices) {
    Register part(builder, slices[0]);
    return power ? part.PowerOfTwo() : part.Logarithm();
  };
  Value* result = ByRegisters(builder, {emitter.values().Vector(call.getArgOperand(0))}, function);
  emitter.Define(call, {uniform ? builder.CreateExtractElement(result, uint64_t{0}) : result});
  return true;
}

}  // namespace tutti::compiler
