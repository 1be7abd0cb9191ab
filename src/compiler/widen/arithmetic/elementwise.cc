#include "compiler/widen/arithmetic/elementwise.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "compiler/widen/arithmetic/division.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Instruction;
using llvm::Value;
using Operands = llvm::SmallVector<Value*, 4>;

bool IsDivision(unsigned opcode) {
  return opcode == Instruction::UDiv || opcode == Instruction::SDiv || opcode == Instruction::URem ||
         opcode == Instruction::SRem;
}

// The address in bytes: base plus scaled indices. `part` maps an old value to its new one.
Value* AddressOf(llvm::IRBuilder<>& builder, const llvm::DataLayout& layout, const llvm::GEPOperator& gep,
                 bool with_constant, llvm::function_ref<Value*(const Value*)> part) {
  llvm::MapVector<Value*, llvm::APInt> variable;
  llvm::APInt constant(64, 0);
  Value* sum = part(gep.getPointerOperand());
  if (!gep.collectOffset(layout, 64, variable, constant)) return nullptr;
  if (!with_constant) constant = 0;
  for (const auto& [index, scale] : variable) {
    Value* term = part(index);
    term = builder.CreateSExtOrTrunc(term, sum->getType());
    sum = builder.CreateAdd(sum, builder.CreateMul(term, llvm::ConstantInt::get(sum->getType(), scale.getZExtValue())));
  }
  return builder.CreateAdd(sum, llvm::ConstantInt::get(sum->getType(), constant.getZExtValue()));
}

// One operation on operands that are all scalars, or all vectors of 32 plain elements. Keeps flags (nsw, ...) only
// where the operands are the lanes' own values: a base is no lane's value, and may overflow where lanes do not.
Value* EmitOperation(llvm::IRBuilder<>& builder, const Instruction& instruction, const Operands& operands,
                     bool keep_flags) {
  llvm::Type* type = Values::Scalar(instruction.getType());
  const bool wide =
      !operands.empty() && operands[0]->getType()->isVectorTy() && !instruction.getOperand(0)->getType()->isVectorTy();
  if (wide) type = Values::Wide(type);
  Value* result = nullptr;
  if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    result = builder.CreateBinOp(binary->getOpcode(), operands[0], operands[1]);
  } else if (const auto* unary = llvm::dyn_cast<llvm::UnaryOperator>(&instruction)) {
    result = builder.CreateUnOp(unary->getOpcode(), operands[0]);
  } else if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    result = builder.CreateCmp(compare->getPredicate(), operands[0], operands[1]);
  } else if (llvm::isa<llvm::SelectInst>(instruction)) {
    result = builder.CreateSelect(operands[0], operands[1], operands[2]);
  } else if (llvm::isa<llvm::FreezeInst>(instruction)) {
    result = builder.CreateFreeze(operands[0]);
  } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    switch (cast->getOpcode()) {
      case Instruction::PtrToInt:
      case Instruction::IntToPtr: result = builder.CreateZExtOrTrunc(operands[0], type); break;
      case Instruction::AddrSpaceCast: result = operands[0]; break;
      default: result = builder.CreateCast(cast->getOpcode(), operands[0], type);
    }
  } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    const llvm::Intrinsic::ID id = call->getIntrinsicID();
    if (!wide) {
      result = builder.CreateCall(call->getCalledFunction(), operands);
    } else {
      llvm::SmallVector<llvm::Type*, 2> overloads;
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1)) overloads.push_back(type);
      for (unsigned i = 0; i < operands.size(); ++i) {
        if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(i)))
          overloads.push_back(operands[i]->getType());
      }
      llvm::Function* function = llvm::Intrinsic::getDeclaration(builder.GetInsertBlock()->getModule(), id, overloads);
      result = builder.CreateCall(function, operands);
    }
  }
  if (auto* made = llvm::dyn_cast_or_null<Instruction>(result);
      made != nullptr && made->getOpcode() == instruction.getOpcode()) {
    if (keep_flags) {
      made->copyIRFlags(&instruction);
    } else if (llvm::isa<llvm::FPMathOperator>(made)) {
      made->setFastMathFlags(instruction.getFastMathFlags());
    }
  }
  return result;
}

class Elementwise {
 public:
  Elementwise(FunctionEmitter& emitter, const Instruction& instruction)
      : emitter_(emitter),
        builder_(emitter.builder()),
        values_(emitter.values()),
        instruction_(instruction),
        shape_(emitter.shape(&instruction)) {}

  void Emit() {
    if (shape_.is_varying()) return EmitVarying();
    llvm::SmallVector<Value*, 4> bases;
    for (unsigned r = 0; r < shape_.run_count(); ++r) {
      Value* base = EmitBase(r);
      if (base == nullptr) return emitter_.Unsupported(instruction_, "the operation is not known");
      bases.push_back(base);
    }
    emitter_.Define(instruction_, bases);
  }

 private:
  const llvm::DataLayout& layout() const { return instruction_.getModule()->getDataLayout(); }
  llvm::iterator_range<Instruction::const_op_iterator> operands() const {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction_)) return call->args();
    return instruction_.operands();
  }

  Value* EmitBase(unsigned r) {
    if (shape_.is_constant_lanes()) return llvm::Constant::getNullValue(Values::Scalar(instruction_.getType()));
    switch (shape_.rule()) {
      case BaseRule::kLinear: return EmitLinear(r);
      case BaseRule::kMasked: {
        const auto* constant = llvm::cast<llvm::ConstantInt>(instruction_.getOperand(1));
        uint64_t k = constant->getZExtValue();
        k &= ~((uint64_t{1} << emitter_.shape(instruction_.getOperand(0)).align()) - 1);
        return builder_.CreateBinOp(llvm::cast<llvm::BinaryOperator>(instruction_).getOpcode(),
                                    values_.Base(instruction_.getOperand(0), shape_.run(), r),
                                    llvm::ConstantInt::get(constant->getType(), k));
      }
      default: return EmitValue(r);
    }
  }

  // The operation on the value that the lanes of a run share.
  Value* EmitValue(unsigned r) {
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(&instruction_)) {
      return AddressOf(builder_, layout(), *gep, true,
                       [&](const Value* operand) { return values_.InRun(operand, shape_.run(), r); });
    }
    Operands parts;
    for (const Value* operand : operands()) parts.push_back(values_.InRun(operand, shape_.run(), r));
    if (IsDivision(instruction_.getOpcode()) && shape_.run() < kLanes && !emitter_.is_full()) {
      // The run may have no active lane, and the divisor any value.
      const uint32_t lanes = ((1u << shape_.run()) - 1) << (r * shape_.run());
      Value* active = builder_.CreateICmpNE(builder_.CreateAnd(emitter_.mask_bits(), builder_.getInt32(lanes)),
                                            builder_.getInt32(0));
      parts[1] = builder_.CreateSelect(active, parts[1], llvm::ConstantInt::get(parts[1]->getType(), 1));
    }
    if (llvm::isa<llvm::ExtractElementInst, llvm::InsertElementInst, llvm::ShuffleVectorInst, llvm::ExtractValueInst,
                  llvm::InsertValueInst>(instruction_)) {
      Instruction* copy = instruction_.clone();
      copy->dropUnknownNonDebugMetadata();
      for (unsigned i = 0; i < parts.size(); ++i) copy->setOperand(i, parts[i]);
      return builder_.Insert(copy);
    }
    // A span of accesses takes it for a sum (analysis/address_sum.h), and must be right where no lane comes, too.
    const auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction_);
    if (either != nullptr && either->isDisjoint() && instruction_.getType()->isIntegerTy(64))
      return builder_.CreateAdd(parts[0], parts[1]);
    // What flags say holds for lanes that come here, of which a part of a warp may have none.
    return EmitOperation(builder_, instruction_, parts, /*keep_flags=*/shape_.run() == kLanes);
  }

  Value* EmitLinear(unsigned r) {
    const auto base = [&](const Value* operand) { return values_.Base(operand, shape_.run(), r); };
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(&instruction_))
      return AddressOf(builder_, layout(), *gep, false, base);
    if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction_)) {
      // The result's offsets are the first value's.
      const unsigned lane = r * shape_.run();
      Value* otherwise = base(select->getFalseValue());
      const int64_t difference = Difference(emitter_.shape(select->getFalseValue()).offset(lane), shape_.offset(lane));
      if (difference != 0)
        otherwise = builder_.CreateAdd(otherwise, llvm::ConstantInt::getSigned(otherwise->getType(), difference));
      return builder_.CreateSelect(values_.Uniform(select->getCondition()), base(select->getTrueValue()), otherwise);
    }
    Operands parts;
    for (const Value* operand : operands()) {
      parts.push_back(BelongsToOffsets(instruction_, operand) ? llvm::Constant::getNullValue(operand->getType())
                                                              : base(operand));
    }
    // Values with no bit in common are or-ed or added; their bases are no lane's values and may have some.
    if (instruction_.getOpcode() == Instruction::Or) return builder_.CreateAdd(parts[0], parts[1]);
    return EmitOperation(builder_, instruction_, parts, /*keep_flags=*/false);
  }

  void EmitVarying() {
    llvm::Type* type = instruction_.getType();
    llvm::SmallVector<Value*, 4> parts;
    switch (instruction_.getOpcode()) {
      case Instruction::ExtractElement:
      case Instruction::InsertElement: return EmitElementAccess();
      case Instruction::ShuffleVector: {
        const auto& shuffle = llvm::cast<llvm::ShuffleVectorInst>(instruction_);
        const unsigned width = Values::ComponentCount(shuffle.getOperand(0)->getType());
        for (int from : shuffle.getShuffleMask()) {
          const unsigned element = from < 0 ? 0 : static_cast<unsigned>(from);
          parts.push_back(values_.Vector(shuffle.getOperand(element / width), element % width));
        }
        return emitter_.Define(instruction_, parts);
      }
      case Instruction::ExtractValue:
        return emitter_.Define(instruction_,
                               {values_.Vector(instruction_.getOperand(0),
                                               llvm::cast<llvm::ExtractValueInst>(instruction_).getIndices()[0])});
      case Instruction::InsertValue: {
        const auto& insert = llvm::cast<llvm::InsertValueInst>(instruction_);
        for (unsigned i = 0; i < Values::ComponentCount(type); ++i) {
          parts.push_back(insert.getIndices()[0] == i ? values_.Vector(insert.getInsertedValueOperand())
                                                      : values_.Vector(insert.getAggregateOperand(), i));
        }
        return emitter_.Define(instruction_, parts);
      }
      case Instruction::BitCast:
        if (Values::ComponentCount(type) != Values::ComponentCount(instruction_.getOperand(0)->getType()))
          return EmitRegroup();
        break;
      case Instruction::GetElementPtr: {
        Value* address = AddressOf(builder_, layout(), llvm::cast<llvm::GEPOperator>(instruction_), true,
                                   [&](const Value* operand) { return values_.Vector(operand); });
        if (address == nullptr) return emitter_.Unsupported(instruction_, "the address is not known");
        return emitter_.Define(instruction_, {address});
      }
      default: break;
    }
    if (llvm::isa<llvm::WithOverflowInst>(instruction_)) return EmitWithOverflow();
    if (type->isStructTy()) return emitter_.Unsupported(instruction_, "it makes a struct");
    for (unsigned i = 0; i < Values::ComponentCount(type); ++i) {
      Value* part = EmitComponent(i);
      if (part == nullptr) return emitter_.Unsupported(instruction_, "the operation is not known");
      parts.push_back(part);
    }
    emitter_.Define(instruction_, parts);
  }

  // Component i of an operation on plain values or on vectors of them.
  Value* EmitComponent(unsigned i) {
    Operands parts;
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction_);
    unsigned index = 0;
    for (const Value* operand : operands()) {
      const unsigned component = Values::ComponentCount(operand->getType()) > 1 ? i : 0;
      const bool scalar = call != nullptr && llvm::isVectorIntrinsicWithScalarOpAtArg(call->getIntrinsicID(), index);
      parts.push_back(scalar ? values_.Uniform(operand) : values_.Vector(operand, component));
      ++index;
    }
    if (IsDivision(instruction_.getOpcode()))
      return EmitDivision(emitter_, llvm::cast<llvm::BinaryOperator>(instruction_), parts[0], parts[1]);
    if (!instruction_.getType()->isVectorTy()) return EmitOperation(builder_, instruction_, parts, true);
    return EmitOnElements(parts);
  }

  // An operation on small vectors, element by element: EmitOperation must see the element's type, not the old one.
  Value* EmitOnElements(const Operands& parts) {
    llvm::Type* wide = Values::Wide(Values::Component(instruction_.getType(), 0));
    switch (instruction_.getOpcode()) {
      case Instruction::Select: return builder_.CreateSelect(parts[0], parts[1], parts[2]);
      case Instruction::Call: {
        const auto& call = llvm::cast<llvm::CallInst>(instruction_);
        llvm::SmallVector<llvm::Type*, 2> overloads;
        if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(call.getIntrinsicID(), -1)) overloads.push_back(wide);
        for (unsigned i = 0; i < parts.size(); ++i) {
          if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(call.getIntrinsicID(), static_cast<int>(i)))
            overloads.push_back(parts[i]->getType());
        }
        return builder_.CreateCall(
            llvm::Intrinsic::getDeclaration(builder_.GetInsertBlock()->getModule(), call.getIntrinsicID(), overloads),
            parts);
      }
      default: break;
    }
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction_))
      return builder_.CreateCast(cast->getOpcode(), parts[0], wide);
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction_))
      return builder_.CreateCmp(compare->getPredicate(), parts[0], parts[1]);
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction_))
      return builder_.CreateBinOp(binary->getOpcode(), parts[0], parts[1]);
    if (llvm::isa<llvm::UnaryOperator>(instruction_)) return builder_.CreateFNeg(parts[0]);
    if (llvm::isa<llvm::FreezeInst>(instruction_)) return builder_.CreateFreeze(parts[0]);
    return nullptr;
  }

  void EmitElementAccess() {
    const bool insert = llvm::isa<llvm::InsertElementInst>(instruction_);
    const Value* vector = instruction_.getOperand(0);
    const Value* index = instruction_.getOperand(insert ? 2 : 1);
    const unsigned count = Values::ComponentCount(vector->getType());
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index);
    llvm::SmallVector<Value*, 4> parts;
    for (unsigned i = 0; i < count; ++i) {
      Value* part = values_.Vector(vector, i);
      Value* here =
          constant != nullptr
              ? nullptr
              : builder_.CreateICmpEQ(values_.Vector(index), llvm::ConstantInt::get(Values::Wide(index->getType()), i));
      if (insert) {
        Value* element = values_.Vector(instruction_.getOperand(1));
        if (constant != nullptr) {
          if (constant->equalsInt(i)) part = element;
        } else {
          part = builder_.CreateSelect(here, element, part);
        }
        parts.push_back(part);
      } else if (constant != nullptr) {
        if (constant->equalsInt(i)) parts.push_back(part);
      } else if (parts.empty()) {
        parts.push_back(part);
      } else {
        parts[0] = builder_.CreateSelect(here, part, parts[0]);
      }
    }
    if (parts.empty()) parts.push_back(values_.Vector(vector, 0));  // an index out of range: any value
    emitter_.Define(instruction_, parts);
  }

  // A bitcast between small vectors, or one and a scalar: by way of one integer per lane.
  void EmitRegroup() {
    const Value* source = instruction_.getOperand(0);
    llvm::Type* to = instruction_.getType();
    const unsigned bits = static_cast<unsigned>(to->getPrimitiveSizeInBits().getFixedValue());
    const unsigned from_count = Values::ComponentCount(source->getType()), to_count = Values::ComponentCount(to);
    llvm::Type* whole = Values::Wide(builder_.getIntNTy(bits));
    Value* packed = nullptr;
    for (unsigned i = 0; i < from_count; ++i) {
      Value* part =
          builder_.CreateBitCast(values_.Vector(source, i), Values::Wide(builder_.getIntNTy(bits / from_count)));
      part = builder_.CreateZExt(part, whole);
      if (i != 0) part = builder_.CreateShl(part, llvm::ConstantInt::get(whole, i * (bits / from_count)));
      packed = packed == nullptr ? part : builder_.CreateOr(packed, part);
    }
    llvm::SmallVector<Value*, 4> parts;
    for (unsigned i = 0; i < to_count; ++i) {
      Value* part = i == 0 ? packed : builder_.CreateLShr(packed, llvm::ConstantInt::get(whole, i * (bits / to_count)));
      part = builder_.CreateTrunc(part, Values::Wide(builder_.getIntNTy(bits / to_count)));
      parts.push_back(builder_.CreateBitCast(part, Values::Wide(Values::Component(to, i))));
    }
    emitter_.Define(instruction_, parts);
  }

  void EmitWithOverflow() {
    const auto& call = llvm::cast<llvm::WithOverflowInst>(instruction_);
    Value *a = values_.Vector(call.getLHS()), *b = values_.Vector(call.getRHS());
    Value* both = builder_.CreateIntrinsic(call.getIntrinsicID(), {a->getType()}, {a, b});
    emitter_.Define(instruction_, {builder_.CreateExtractValue(both, 0), builder_.CreateExtractValue(both, 1)});
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  Values& values_;
  const Instruction& instruction_;
  const Shape& shape_;
};

}  // namespace

void EmitElementwise(FunctionEmitter& emitter, const Instruction& instruction) {
  Elementwise(emitter, instruction).Emit();
}

}  // namespace tutti::compiler
