#include "compiler/widen/lanes/round_question.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/analysis/span.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr unsigned kMostOperations = 6;  // in each other

using Made = llvm::function_ref<Value*(const Value&)>;

// i64: an address of which StepLog2 knows the step, in the first round.
Value* AtStart(llvm::IRBuilder<>& builder, const Value& value, const CountedLoop& loop, const BasicBlock& block,
               Made made) {
  const auto* instruction = llvm::dyn_cast<Instruction>(&value);
  if (instruction == nullptr || instruction->getParent() != &block) return made(value);
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction))
    return AtStart(builder, *phi->getIncomingValueForBlock(loop.before), loop, block, made);
  Value* one = AtStart(builder, *instruction->getOperand(0), loop, block, made);
  if (one == nullptr || llvm::isa<llvm::IntToPtrInst>(instruction)) return one;
  Value* other = AtStart(builder, *instruction->getOperand(1), loop, block, made);
  return other == nullptr ? nullptr : builder.CreateAdd(one, other);
}

// What a lane function's values are for all lanes, in front of its call.
class WarpValues {
 public:
  WarpValues(FunctionEmitter& emitter, const llvm::CallInst& call) : emitter_(emitter), call_(call) {}

  // Null if it takes more than a few operations.
  Value* Of(const Value& value, unsigned depth = 0) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value))
      return llvm::ConstantInt::get(Values::Wide(constant->getType()), constant->getValue());
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      const Value* passed = call_.getArgOperand(argument->getArgNo());
      return emitter_.shape(passed).is_uniform() ? builder.CreateVectorSplat(kLanes, emitter_.values().Uniform(passed))
                                                 : emitter_.values().Vector(passed);
    }
    const auto* operation = llvm::dyn_cast<Instruction>(&value);
    if (operation == nullptr || depth == kMostOperations) return nullptr;
    if (llvm::isa<llvm::IntToPtrInst, llvm::PtrToIntInst>(operation)) {
      const bool is_address = operation->getOperand(0)->getType()->isIntegerTy(64) || value.getType()->isIntegerTy(64);
      return is_address ? Of(*operation->getOperand(0), depth + 1) : nullptr;
    }
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst>(operation)) {
      Value* from = Of(*operation->getOperand(0), depth + 1);
      return from == nullptr ? nullptr
                             : builder.CreateCast(llvm::cast<llvm::CastInst>(operation)->getOpcode(), from,
                                                  Values::Wide(value.getType()));
    }
    switch (operation->getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Mul:
      case Instruction::And:
      case Instruction::Or:
      case Instruction::Shl: break;
      default: return nullptr;
    }
    Value* one = Of(*operation->getOperand(0), depth + 1);
    Value* other = one == nullptr ? nullptr : Of(*operation->getOperand(1), depth + 1);
    // Without flags: of lanes that take no part, too.
    return other == nullptr
               ? nullptr
               : builder.CreateBinOp(static_cast<Instruction::BinaryOps>(operation->getOpcode()), one, other);
  }

 private:
  FunctionEmitter& emitter_;
  const llvm::CallInst& call_;
};

// Whether control always comes from the function's entry to the loop.
bool IsAlwaysReached(const CountedLoop& loop) {
  const BasicBlock* block = &loop.before->getParent()->getEntryBlock();
  for (unsigned i = 0; i < kMostOperations && block != nullptr; ++i) {
    if (block == loop.before) return true;
    block = block->getSingleSuccessor();
  }
  return false;
}

}  // namespace

Value* AllRoundsHold(FunctionEmitter& emitter, const CountedLoop& loop, llvm::ArrayRef<RoundAccess> accesses,
                     Made made) {
  llvm::IRBuilder<>& builder = emitter.builder();
  Value* first = made(*loop.first);
  Value* end = first == nullptr ? nullptr : made(*loop.end);
  if (end == nullptr) return nullptr;
  Value* distance = loop.counts_down ? builder.CreateSub(first, end) : builder.CreateSub(end, first);
  Value* last = builder.CreateLShr(distance, loop.step_log2);
  last = builder.CreateSub(last, llvm::ConstantInt::get(last->getType(), 1));
  last = builder.CreateZExt(last, last->getType()->getWithNewBitWidth(64));
  Value* holds = nullptr;
  const auto require = [&](Value* also) { holds = holds == nullptr ? also : builder.CreateAnd(holds, also); };
  if (loop.step_log2 != 0) {
    Value* rest =
        builder.CreateAnd(distance, llvm::ConstantInt::get(distance->getType(), (uint64_t{1} << loop.step_log2) - 1));
    require(builder.CreateICmpEQ(rest, llvm::Constant::getNullValue(rest->getType())));
  }
  for (const auto& [access, span, region] : accesses) {
    const BasicBlock& block = *access->getParent();
    Value* address = AtStart(builder, *span->base, loop, block, made);
    if (address == nullptr) return nullptr;
    address = builder.CreateAdd(address, llvm::ConstantInt::getSigned(address->getType(), span->low));
    if (region.base != nullptr) {
      Value* base = address->getType()->isVectorTy() ? builder.CreateVectorSplat(kLanes, region.base) : region.base;
      address = builder.CreateAdd(address, base);
    }
    AddressCheck check(emitter, region, *access, span->align_log2);
    Value* rounds = check.ElementsFrom(address, static_cast<uint64_t>(span->high - span->low),
                                       *StepLog2(*span->base, block, span->align_log2));
    require(builder.CreateICmpULT(last, rounds));
  }
  return holds;
}

Value* AllRoundsHoldForWarp(FunctionEmitter& emitter, const llvm::CallInst& call, const CountedLoop& loop,
                            llvm::ArrayRef<RoundAccess> accesses) {
  if (!IsAlwaysReached(loop)) return nullptr;
  WarpValues values(emitter, call);
  Value* holds = AllRoundsHold(emitter, loop, accesses, [&](const Value& value) { return values.Of(value); });
  if (holds == nullptr) return nullptr;
  llvm::IRBuilder<>& builder = emitter.builder();
  return builder.CreateICmpEQ(emitter.Bits(emitter.Masked(builder.CreateNot(holds))), builder.getInt32(0));
}

}  // namespace tutti::compiler
