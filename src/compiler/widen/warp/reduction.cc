#include "compiler/widen/warp/reduction.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using Op = llvm::AtomicRMWInst::BinOp;

llvm::Constant* Identity(Op operation, llvm::Type* type) {
  switch (operation) {
    case Op::And:
    case Op::UMin: return llvm::Constant::getAllOnesValue(type);
    case Op::Min: return llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(type->getScalarSizeInBits()));
    case Op::Max: return llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
    case Op::FAdd: return llvm::ConstantFP::getNegativeZero(type);
    case Op::FMin:
    case Op::FMax: return llvm::ConstantFP::getQNaN(type);  // minnum and maxnum return the other operand
    default: return llvm::Constant::getNullValue(type);
  }
}

llvm::Value* ReduceAll(llvm::IRBuilder<>& builder, Op operation, llvm::Value* values) {
  switch (operation) {
    case Op::Add: return builder.CreateAddReduce(values);
    case Op::And: return builder.CreateAndReduce(values);
    case Op::Or: return builder.CreateOrReduce(values);
    case Op::Xor: return builder.CreateXorReduce(values);
    case Op::Min: return builder.CreateIntMinReduce(values, true);
    case Op::Max: return builder.CreateIntMaxReduce(values, true);
    case Op::UMin: return builder.CreateIntMinReduce(values, false);
    case Op::UMax: return builder.CreateIntMaxReduce(values, false);
    case Op::FMin: return builder.CreateFPMinReduce(values);
    case Op::FMax: return builder.CreateFPMaxReduce(values);
    default: {
      llvm::CallInst* sum =
          builder.CreateFAddReduce(llvm::ConstantFP::getNegativeZero(values->getType()->getScalarType()), values);
      llvm::FastMathFlags flags;
      flags.setAllowReassoc();  // atomic additions have no guaranteed order
      sum->setFastMathFlags(flags);
      return sum;
    }
  }
}

}  // namespace

llvm::Value* Reduce(FunctionEmitter& emitter, Op operation, llvm::Value* values, llvm::Value* lanes) {
  llvm::IRBuilder<>& builder = emitter.builder();
  if (lanes == nullptr && !emitter.is_full()) lanes = emitter.mask();
  if (lanes != nullptr) values = builder.CreateSelect(lanes, values, Identity(operation, values->getType()));
  return ReduceAll(builder, operation, values);
}

// Hillis and Steele's scan: five shifted additions.
llvm::Value* PrefixSum(FunctionEmitter& emitter, llvm::Value* values) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Value* zero = llvm::Constant::getNullValue(values->getType());
  for (unsigned distance = 1; distance < kLanes; distance *= 2) {
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      lanes.push_back(static_cast<int>(lane < distance ? kLanes : lane - distance));
    llvm::Value* shifted = builder.CreateShuffleVector(values, zero, lanes);
    values = values->getType()->isFPOrFPVectorTy() ? builder.CreateFAdd(values, shifted)
                                                   : builder.CreateAdd(values, shifted);
  }
  return values;
}

}  // namespace tutti::compiler
