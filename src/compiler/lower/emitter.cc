#include "compiler/lower/emitter.h"

#include "compiler/lower/families.h"
#include "compiler/lower/implied_modifiers.h"
#include "compiler/lower/special_registers.h"
#include "fmt/format.h"
#include "guest/device_runtime.h"

namespace tutti::compiler::lowering {

Emitter::Emitter(ModuleEmitter& module, uint32_t function, llvm::Function* ir_function)
    : ir(module.context()),
      module_(module),
      function_(module.source().functions[function]),
      function_index_(function),
      ir_function_(ir_function),
      registers_(function_.registers.size()),
      storage_(function_.locals.size()),
      labels_(function_.labels.size()) {
  subprogram_ = module.Subprogram(function_, ir_function);
}

void Emitter::EmitBody() {
  entry_ = NewBlock("entry");
  llvm::BasicBlock* body = NewBlock("body");
  StoreArguments();
  EnterStack();
  ir.SetInsertPoint(body);
  std::vector<std::vector<ptx::LabelId>> labels_at(function_.instructions.size() + 1);
  for (ptx::LabelId l = 0; l < function_.labels.size(); ++l) {
    if (function_.labels[l].instruction < labels_at.size()) labels_at[function_.labels[l].instruction].push_back(l);
  }
  for (size_t i = 0; i <= function_.instructions.size(); ++i) {
    for (const ptx::LabelId l : labels_at[i]) {
      ir.CreateBr(BlockOf(l));
      ir.SetInsertPoint(BlockOf(l));
    }
    if (i < function_.instructions.size()) EmitInstruction(function_.instructions[i]);
  }
  Return();  // falling off the end returns
  ir.CreateUnreachable();
  ir.SetInsertPoint(entry_);
  ir.SetCurrentDebugLocation({});
  ir.CreateBr(body);
}

void Emitter::EmitInstruction(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  modifiers_ = ptx::ModifierUse(instruction);
  refused_ = false;
  ir.SetCurrentDebugLocation(llvm::DILocation::get(context(), instruction.position.line, 0, subprogram_));
  module_.NoteSource(instruction);
  EmitGuarded();
  RefuseUnseenModifiers();
}

void Emitter::EmitGuarded() {
  const Family* family = FamilyOf(instruction_->opcode);
  if (family == nullptr) return Refuse("this instruction is not supported");
  if (!instruction_->guard || family->guarding == Guarding::kControl) return family->emit(*this);
  if (family->guarding == Guarding::kSelect) {
    select_guard_ = Guard();
    family->emit(*this);
    select_guard_ = nullptr;
    return;
  }
  llvm::BasicBlock* guarded = NewBlock("guarded");
  llvm::BasicBlock* next = NewBlock("next");
  ir.CreateCondBr(Guard(), guarded, next);
  ir.SetInsertPoint(guarded);
  family->emit(*this);
  ir.CreateBr(next);
  ir.SetInsertPoint(next);
}

void Emitter::RefuseUnseenModifiers() {
  if (refused_) return;
  const auto ignored = modifiers_.FirstUnseen(
      [&](ptx::Modifier modifier) { return ptx::IsHint(modifier) || IsImplied(instruction_->opcode, modifier); });
  if (!ignored) return;
  Refuse(fmt::format("{} with .{} is not supported", ptx::NameOf(instruction_->opcode), ptx::NameOf(*ignored)));
}

// --- The instruction.

ptx::Type Emitter::type(size_t n) const {
  const auto& types = instruction_->types;
  if (types.empty()) return ptx::Type::kNone;
  return n < types.size() ? types[n] : types.back();
}

const ptx::Operand& Emitter::operand(size_t n) {
  static const ptx::Operand kNone;
  if (n < instruction_->operands.size()) return instruction_->operands[n];
  Invalid("too few operands");
  return kNone;
}

std::vector<const ptx::Operand*> Emitter::Elements(const ptx::Operand& operand) {
  if (operand.kind != ptx::OperandKind::kVector) return {&operand};
  std::vector<const ptx::Operand*> elements;
  for (size_t i = operand.index; i < size_t{operand.index} + operand.count && i < function_.vector_operands.size();
       ++i) {
    elements.push_back(&function_.vector_operands[i]);
  }
  return elements;
}

void Emitter::Refuse(std::string reason) { Report(std::move(reason), false); }
void Emitter::Invalid(std::string reason) { Report(std::move(reason), true); }

void Emitter::Report(std::string reason, bool invalid) {
  if (refused_) return;  // the first reason is the one to act on
  refused_ = true;
  module_.diagnostics().Add(
      {function_.name, instruction_->position, FormOf(*instruction_), std::move(reason), invalid});
}

// --- Values.

llvm::Value* Emitter::Zero(ptx::Type type) {
  llvm::Type* llvm_type = TypeOf(context(), type);
  return llvm::Constant::getNullValue(llvm_type != nullptr ? llvm_type : ir.getInt32Ty());
}

llvm::AllocaInst* Emitter::NewAlloca(llvm::Type* type, const llvm::Twine& name) {
  llvm::IRBuilder<> at(entry_);
  return at.CreateAlloca(type, nullptr, name);
}

llvm::AllocaInst* Emitter::Register(ptx::RegisterId id) {
  if (id >= registers_.size()) return nullptr;
  if (registers_[id] == nullptr) {
    llvm::Type* type = TypeOf(context(), function_.registers[id].type);
    if (type == nullptr) return nullptr;
    registers_[id] = NewAlloca(type, function_.registers[id].name);
    // A register that is read before it is written holds zero, never an undefined value: see finish.h.
    llvm::IRBuilder<>(entry_).CreateStore(llvm::Constant::getNullValue(type), registers_[id]);
  }
  return registers_[id];
}

llvm::Value* Emitter::Read(const ptx::Operand& operand, ptx::Type as) {
  llvm::Type* type = TypeOf(context(), as);
  if (type == nullptr) {
    Invalid("an operand has no type that can be computed with");
    return ir.getInt32(0);
  }
  switch (operand.kind) {
    case ptx::OperandKind::kRegister: {
      llvm::AllocaInst* reg = Register(operand.index);
      if (reg == nullptr) break;
      llvm::Value* value = ir.CreateLoad(reg->getAllocatedType(), reg);
      const bool is_predicate = value->getType()->isIntegerTy(1);
      if (is_predicate != (as == ptx::Type::kPred)) break;
      value = Reinterpret(ir, value, type, false);
      if (!operand.negated) return value;
      if (!is_predicate) break;
      return ir.CreateNot(value);
    }
    case ptx::OperandKind::kImmediate: return Immediate(operand, as);
    case ptx::OperandKind::kSymbol: return Reinterpret(ir, AddressOfSymbol(operand.index, operand.offset), type, false);
    case ptx::OperandKind::kLocal: return Reinterpret(ir, AddressOfLocal(operand.index, operand.offset), type, false);
    case ptx::OperandKind::kSpecial: {
      llvm::Value* value = ReadSpecialRegister(*this, static_cast<ptx::SpecialRegister>(operand.index));
      if (as == ptx::Type::kPred) return ir.CreateIsNotNull(value);
      return Reinterpret(ir, value, type, false);
    }
    case ptx::OperandKind::kSink: return llvm::Constant::getNullValue(type);
    default: break;
  }
  Invalid("an operand is not of the kind or type the instruction takes");
  return llvm::Constant::getNullValue(type);
}

llvm::Value* Emitter::Immediate(const ptx::Operand& operand, ptx::Type as) {
  llvm::Type* type = TypeOf(context(), as);
  if (as == ptx::Type::kPred) return ir.getInt1(operand.bits != 0);
  if (IsWideFloat(as)) {
    if (!operand.is_float) {
      Invalid("an integer literal where a floating-point number is expected");
      return llvm::Constant::getNullValue(type);
    }
    const bool narrow = operand.is_f32;
    llvm::APFloat value(narrow ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble(),
                        llvm::APInt(64, operand.bits).zextOrTrunc(narrow ? 32 : 64));
    bool lost = false;
    value.convert(type->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return llvm::ConstantFP::get(context(), value);
  }
  const uint32_t bits = type->getIntegerBitWidth();
  if (operand.is_float && bits != (operand.is_f32 ? 32 : 64)) {
    Invalid("a floating-point literal where an integer of another size is expected");
    return llvm::Constant::getNullValue(type);
  }
  llvm::APInt value(64, operand.bits);
  return llvm::ConstantInt::get(type, ptx::IsSigned(as) ? value.sextOrTrunc(bits) : value.zextOrTrunc(bits));
}

void Emitter::Write(const ptx::Operand& operand, llvm::Value* value, ptx::Type as) {
  if (operand.kind == ptx::OperandKind::kSink) return;
  llvm::AllocaInst* reg = operand.kind == ptx::OperandKind::kRegister ? Register(operand.index) : nullptr;
  if (reg == nullptr) return Invalid("the destination is not a register");
  llvm::Type* type = reg->getAllocatedType();
  if (type->isIntegerTy(1) != value->getType()->isIntegerTy(1)) {
    return Invalid("the destination register has the wrong type");
  }
  value = Reinterpret(ir, value, type, ptx::IsSigned(as));
  if (select_guard_ != nullptr) value = ir.CreateSelect(select_guard_, value, ir.CreateLoad(type, reg));
  ir.CreateStore(value, reg);
}

llvm::AllocaInst* Emitter::Carry() {
  if (carry_ == nullptr) {
    carry_ = NewAlloca(ir.getInt1Ty(), "carry");
    llvm::IRBuilder<>(entry_).CreateStore(ir.getFalse(), carry_);
  }
  return carry_;
}

llvm::AllocaInst* Emitter::RuntimeWords() {
  if (runtime_words_ == nullptr)
    runtime_words_ = NewAlloca(llvm::ArrayType::get(ir.getInt64Ty(), guest::kMostRuntimeWords), "runtime_words");
  return runtime_words_;
}

// What reads the flag may stand above what sets it, in a loop for one.
llvm::Value* Emitter::ReadCarry() { return ir.CreateLoad(ir.getInt1Ty(), Carry()); }

void Emitter::WriteCarry(llvm::Value* carry) {
  if (select_guard_ != nullptr) carry = ir.CreateSelect(select_guard_, carry, ReadCarry());
  ir.CreateStore(carry, Carry());
}

// --- Calls of tutti.*.

llvm::Value* Emitter::CallNamed(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
                                Effect effect) {
  llvm::SmallVector<llvm::Type*, 8> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  return ir.CreateCall(module_.Declare(name, llvm::FunctionType::get(result, types, false), effect), arguments);
}

llvm::Value* Emitter::Call(IntrinsicName name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
                           Effect effect) {
  return CallNamed(name.get(), result, arguments, effect);
}

llvm::Value* Emitter::Call(IntrinsicFamily family, llvm::StringRef member, llvm::Type* result,
                           llvm::ArrayRef<llvm::Value*> arguments, Effect effect) {
  return CallNamed(family.Member(member), result, arguments, effect);
}

llvm::Value* Emitter::FromLane(llvm::Value* value, llvm::Value* lane) {
  llvm::Type* type = llvm::StructType::get(ir.getInt32Ty(), ir.getInt1Ty());
  llvm::Value* result =
      Call("tutti.shfl.idx.i32", type, {ir.getInt32(~0u), value, lane, ir.getInt32(31)}, Effect::kWarp);
  llvm::cast<llvm::CallInst>(result)->setMetadata("tutti.aligned", llvm::MDNode::get(context(), {}));
  return ir.CreateExtractValue(result, 0);
}

llvm::Value* Emitter::CallFn(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  return Call("tutti.fn.", name, arguments.front()->getType(), arguments, Effect::kPure);
}

llvm::Value* Emitter::Intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments) {
  return ir.CreateIntrinsic(id, {arguments.front()->getType()}, arguments);
}

// --- Control.

llvm::BasicBlock* Emitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context(), name, ir_function_);
}

llvm::BasicBlock* Emitter::BlockOf(ptx::LabelId label) {
  if (label >= labels_.size()) {
    Invalid("branch to an unknown label");
    return NewBlock("nowhere");
  }
  if (labels_[label] == nullptr) {
    labels_[label] = llvm::BasicBlock::Create(context(), function_.labels[label].name, ir_function_);
  }
  return labels_[label];
}

llvm::Value* Emitter::Guard() {
  if (!instruction_->guard) return nullptr;
  ptx::Operand predicate;
  predicate.kind = ptx::OperandKind::kRegister;
  predicate.index = instruction_->guard->predicate;
  predicate.negated = instruction_->guard->negated;
  return Read(predicate, ptx::Type::kPred);
}

void Emitter::Fault(guest::FaultKind kind) {
  Call("tutti.trap", ir.getVoidTy(), {ir.getInt32(static_cast<uint32_t>(kind))}, Effect::kEnd);
  ir.CreateUnreachable();
  ir.SetInsertPoint(NewBlock("dead"));
}

void Emitter::Exit() {
  if (is_kernel()) {
    ir.CreateRetVoid();
  } else {
    Call("tutti.exit", ir.getVoidTy(), {}, Effect::kEnd);
    ir.CreateUnreachable();
  }
  ir.SetInsertPoint(NewBlock("dead"));
}

void Emitter::Return() {
  if (is_kernel()) return Exit();
  LeaveStack();
  std::vector<size_t> first_piece;
  const std::vector<Piece> pieces = module_.PiecesOf(function_.prototype.returns, &first_piece);
  std::vector<llvm::Value*> values;
  for (size_t r = 0; r < function_.prototype.returns.size(); ++r) {
    const ptx::LocalVariable& local = function_.locals[function_.first_return + r];
    if (local.space == ptx::StateSpace::kReg) {
      for (size_t p = first_piece[r]; p < first_piece[r + 1]; ++p) {
        llvm::AllocaInst* place = Register(local.register_id);
        values.push_back(place == nullptr
                             ? llvm::Constant::getNullValue(pieces[p].type)
                             : Reinterpret(ir, ir.CreateLoad(place->getAllocatedType(), place), pieces[p].type, false));
      }
      continue;
    }
    llvm::AllocaInst* storage = Storage(function_.first_return + static_cast<uint32_t>(r));
    for (size_t p = first_piece[r]; p < first_piece[r + 1]; ++p) {
      llvm::Value* at = ir.CreateConstGEP1_64(ir.getInt8Ty(), storage, pieces[p].offset);
      values.push_back(ir.CreateAlignedLoad(pieces[p].type, at, llvm::Align(1)));
    }
  }
  if (values.empty()) {
    ir.CreateRetVoid();
  } else if (values.size() == 1) {
    ir.CreateRet(values.front());
  } else {
    ir.CreateAggregateRet(values.data(), static_cast<unsigned>(values.size()));
  }
  ir.SetInsertPoint(NewBlock("dead"));
}

}  // namespace tutti::compiler::lowering
