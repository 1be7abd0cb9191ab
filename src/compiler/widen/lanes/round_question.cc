#include "compiler/widen/lanes/round_question.h"

#include <llvm/IR/Constants.h>

#include <optional>

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

// An address in the first round: a table's begin, and the lanes' indices times 2^scale_log2.
struct TableSum {
  Value* base = nullptr;  // i64
  Value* index = nullptr;  // <32 x i32>, unsigned
  unsigned scale_log2 = 0;
};

class TableFinder {
 public:
  TableFinder(FunctionEmitter& emitter, const llvm::CallInst& call, const CountedLoop& loop, const BasicBlock& block)
      : emitter_(emitter), call_(call), loop_(loop), block_(block) {}

  // None if the address is none that begins as such a sum in front of the call.
  std::optional<TableSum> Find(const Value& address) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    sum_.base = builder.getInt64(0);
    if (!Add(address, 0) || sum_.index == nullptr) return std::nullopt;
    return sum_;
  }

 private:
  bool Add(const Value& value, unsigned depth) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    if (depth == kMostOperations) return false;
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
      sum_.base = builder.CreateAdd(sum_.base, const_cast<llvm::ConstantInt*>(constant));
      return true;
    }
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value))
      return AddPassed(*call_.getArgOperand(argument->getArgNo()));
    const auto* operation = llvm::dyn_cast<Instruction>(&value);
    if (operation == nullptr || operation->getParent() != &block_) return false;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(operation))
      return Add(*phi->getIncomingValueForBlock(loop_.before), depth + 1);
    if (llvm::isa<llvm::IntToPtrInst>(operation)) return Add(*operation->getOperand(0), depth + 1);
    return operation->getOpcode() == Instruction::Add && Add(*operation->getOperand(0), depth + 1) &&
           Add(*operation->getOperand(1), depth + 1);
  }

  bool AddPassed(const Value& passed) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    if (!passed.getType()->isIntegerTy(64)) return false;
    if (emitter_.shape(&passed).is_uniform()) {
      sum_.base = builder.CreateAdd(sum_.base, emitter_.values().Uniform(&passed));
      return true;
    }
    const auto table = FindTableAddress(emitter_, &passed);
    if (sum_.index != nullptr || !table || !llvm::isa<llvm::ZExtInst>(table->extension)) return false;
    for (const auto& [term, scale] : table->terms) {
      sum_.base = builder.CreateAdd(sum_.base, builder.CreateShl(emitter_.values().Uniform(term), scale));
    }
    sum_.index = emitter_.values().Vector(table->extension->getOperand(0));
    sum_.scale_log2 = table->scale_log2;
    return true;
  }

  FunctionEmitter& emitter_;
  const llvm::CallInst& call_;
  const CountedLoop& loop_;
  const BasicBlock& block_;
  TableSum sum_;
};

Value* Distance(llvm::IRBuilder<>& builder, const CountedLoop& loop, Value* first, Value* end) {
  return loop.counts_down ? builder.CreateSub(first, end) : builder.CreateSub(end, first);
}

// The number of rounds, less one.
Value* LastRound(llvm::IRBuilder<>& builder, const CountedLoop& loop, Value* distance) {
  Value* rounds = builder.CreateLShr(distance, loop.step_log2);
  return builder.CreateSub(rounds, llvm::ConstantInt::get(rounds->getType(), 1));
}

Value* IsWhole(llvm::IRBuilder<>& builder, const CountedLoop& loop, Value* distance) {
  const uint64_t odd = (uint64_t{1} << loop.step_log2) - 1;
  Value* rest = builder.CreateAnd(distance, llvm::ConstantInt::get(distance->getType(), odd));
  return builder.CreateICmpEQ(rest, llvm::Constant::getNullValue(rest->getType()));
}

// The lanes' first rounds and their numbers, of 32 bits, against how many elements the tables have: a fifth of what 64
// bits of each lane's address take. Null if some access is of no table, or is not of element after element.
Value* AllRoundsHoldByIndex(FunctionEmitter& emitter, const llvm::CallInst& call, const CountedLoop& loop,
                            llvm::ArrayRef<RoundAccess> accesses, WarpValues& values) {
  if (!loop.first->getType()->isIntegerTy(32)) return nullptr;
  llvm::SmallVector<TableSum, 4> sums;
  for (const auto& [access, span, region] : accesses) {
    const BasicBlock& block = *access->getParent();
    const auto sum = TableFinder(emitter, call, loop, block).Find(*span->base);
    if (!sum || sum->scale_log2 < span->align_log2 || StepLog2(*span->base, block, span->align_log2) != sum->scale_log2)
      return nullptr;
    sums.push_back(*sum);
  }
  llvm::IRBuilder<>& builder = emitter.builder();
  Value* first = values.Of(*loop.first);
  Value* end = first == nullptr ? nullptr : values.Of(*loop.end);
  if (end == nullptr) return nullptr;
  Value* distance = Distance(builder, loop, first, end);
  Value* last = LastRound(builder, loop, distance);
  Value* holds = loop.step_log2 != 0 ? IsWhole(builder, loop, distance) : nullptr;
  for (const auto& [round, sum] : llvm::zip(accesses, sums)) {
    const auto& [access, span, region] = round;
    Value* base = builder.CreateAdd(sum.base, builder.getInt64(static_cast<uint64_t>(span->low)));
    if (region.base != nullptr) base = builder.CreateAdd(base, region.base);
    AddressCheck check(emitter, region, *access, span->align_log2);
    Value* elements = check.ElementsFrom(base, static_cast<uint64_t>(span->high - span->low), sum.scale_log2);
    elements = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, elements, builder.getInt64(UINT32_MAX));
    elements = builder.CreateVectorSplat(kLanes, builder.CreateTrunc(elements, builder.getInt32Ty()));
    Value* left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, elements, sum.index);
    Value* is_inside = builder.CreateICmpULT(last, left);
    holds = holds == nullptr ? is_inside : builder.CreateAnd(holds, is_inside);
  }
  return holds;
}

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
  Value* distance = Distance(builder, loop, first, end);
  Value* last = LastRound(builder, loop, distance);
  last = builder.CreateZExt(last, last->getType()->getWithNewBitWidth(64));
  Value* holds = nullptr;
  const auto require = [&](Value* also) { holds = holds == nullptr ? also : builder.CreateAnd(holds, also); };
  if (loop.step_log2 != 0) require(IsWhole(builder, loop, distance));
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
  Value* holds = AllRoundsHoldByIndex(emitter, call, loop, accesses, values);
  if (holds == nullptr)
    holds = AllRoundsHold(emitter, loop, accesses, [&](const Value& value) { return values.Of(value); });
  if (holds == nullptr) return nullptr;
  llvm::IRBuilder<>& builder = emitter.builder();
  return builder.CreateICmpEQ(emitter.Bits(emitter.Masked(builder.CreateNot(holds))), builder.getInt32(0));
}

}  // namespace tutti::compiler
