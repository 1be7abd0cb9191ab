// Calls: of device functions, through pointers, and of the device runtime (vprintf and its like).
#include <algorithm>

#include "compiler/contract/intrinsics.h"
#include "compiler/lower/call_operands.h"
#include "compiler/lower/families.h"
#include "fmt/format.h"

namespace tutti::compiler::lowering {

llvm::AllocaInst* ParamStorage(Emitter& e, const ptx::Operand& operand, uint64_t bytes) {
  llvm::AllocaInst* storage = operand.kind == ptx::OperandKind::kLocal ? e.Storage(operand.index) : nullptr;
  if (storage == nullptr || operand.offset != 0) {
    e.Invalid("an argument is neither a .param variable nor a register");
    return nullptr;
  }
  if (e.function().locals[operand.index].bytes() < bytes) {
    e.Invalid("a .param variable is smaller than the parameter");
    return nullptr;
  }
  return storage;
}

llvm::Value* ReadScalarArgument(Emitter& e, size_t i, ptx::Type type) {
  const ptx::Operand& operand = ArgumentOperand(e, i);
  if (IsValue(operand)) return e.Read(operand, type);
  llvm::AllocaInst* storage = ParamStorage(e, operand, ptx::BitsOf(type) / 8);
  if (storage == nullptr) return e.Zero(type);
  return e.ir.CreateAlignedLoad(TypeOf(e.context(), type), storage, llvm::Align(1));
}

void WriteScalarReturn(Emitter& e, llvm::Value* value, ptx::Type type) {
  if (e.instruction().call_returns == 0) return;
  const ptx::Operand& operand = ReturnOperand(e, 0);
  if (operand.kind == ptx::OperandKind::kSink) return;
  if (operand.kind == ptx::OperandKind::kRegister) return e.Write(operand, value, type);
  if (llvm::AllocaInst* storage = ParamStorage(e, operand, ptx::BitsOf(type) / 8))
    e.ir.CreateAlignedStore(value, storage, llvm::Align(1));
}

namespace {

std::vector<llvm::Value*> ReadArguments(Emitter& e, const ptx::Prototype& prototype) {
  std::vector<size_t> first_piece;
  const std::vector<Piece> pieces = e.module().PiecesOf(prototype.params, &first_piece);
  std::vector<llvm::Value*> values;
  for (size_t i = 0; i < prototype.params.size(); ++i) {
    const ptx::Operand& operand = ArgumentOperand(e, i);
    const size_t count = first_piece[i + 1] - first_piece[i];
    if (IsValue(operand) && count == 1) {
      values.push_back(e.Read(operand, prototype.params[i].type));
      continue;
    }
    llvm::AllocaInst* storage = ParamStorage(e, operand, prototype.params[i].bytes());
    for (size_t p = first_piece[i]; p < first_piece[i + 1]; ++p) {
      if (storage == nullptr) {
        values.push_back(llvm::Constant::getNullValue(pieces[p].type));
        continue;
      }
      llvm::Value* at = e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), storage, pieces[p].offset);
      values.push_back(e.ir.CreateAlignedLoad(pieces[p].type, at, llvm::Align(1)));
    }
  }
  return values;
}

void WriteReturns(Emitter& e, const ptx::Prototype& prototype, llvm::Value* result) {
  std::vector<size_t> first_piece;
  const std::vector<Piece> pieces = e.module().PiecesOf(prototype.returns, &first_piece);
  const auto piece = [&](size_t p) {
    return pieces.size() == 1 ? result : e.ir.CreateExtractValue(result, static_cast<unsigned>(p));
  };
  for (size_t r = 0; r < std::min<size_t>(prototype.returns.size(), e.instruction().call_returns); ++r) {
    const ptx::Operand& operand = ReturnOperand(e, r);
    if (operand.kind == ptx::OperandKind::kSink) continue;
    if (operand.kind == ptx::OperandKind::kRegister && first_piece[r + 1] - first_piece[r] == 1) {
      e.Write(operand, piece(first_piece[r]), prototype.returns[r].type);
      continue;
    }
    llvm::AllocaInst* storage = ParamStorage(e, operand, prototype.returns[r].bytes());
    if (storage == nullptr) return;
    for (size_t p = first_piece[r]; p < first_piece[r + 1]; ++p) {
      llvm::Value* at = e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), storage, pieces[p].offset);
      e.ir.CreateAlignedStore(piece(p), at, llvm::Align(1));
    }
  }
}

// The device runtime's functions, by name. Arguments are given by type, the result has none or one.
struct RuntimeFunction {
  std::string_view name;
  IntrinsicName intrinsic;
  ptx::Type result;
  std::vector<ptx::Type> arguments;
  bool returns = true;
};
const RuntimeFunction* RuntimeFunctionOf(std::string_view name) {
  using T = ptx::Type;
  static const RuntimeFunction kFunctions[] = {
      {"vprintf", "tutti.vprintf", T::kB32, {T::kB64, T::kB64}},
      {"malloc", "tutti.malloc", T::kB64, {T::kB64}},
      {"free", "tutti.free", T::kNone, {T::kB64}},
      {"cudaGraphSetConditional", "tutti.set_condition", T::kNone, {T::kB64, T::kB32}},
      {"__assertfail", "tutti.assertfail", T::kNone, {T::kB64, T::kB64, T::kB32, T::kB64}, false},
  };
  for (const RuntimeFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

void CallRuntime(Emitter& e, const RuntimeFunction& function) {
  if (e.instruction().call_arguments < function.arguments.size()) return e.Invalid("too few arguments");
  std::vector<llvm::Value*> arguments;
  for (size_t i = 0; i < function.arguments.size(); ++i)
    arguments.push_back(ReadScalarArgument(e, i, function.arguments[i]));
  llvm::Type* type = function.result == ptx::Type::kNone ? e.ir.getVoidTy() : TypeOf(e.context(), function.result);
  llvm::Value* result = e.Call(function.intrinsic, type, arguments, function.returns ? Effect::kMemory : Effect::kEnd);
  if (!function.returns) {
    e.ir.CreateUnreachable();
    return e.ir.SetInsertPoint(e.NewBlock("dead"));
  }
  if (function.result != ptx::Type::kNone) WriteScalarReturn(e, result, function.result);
}

void CallDirectly(Emitter& e, const ptx::Symbol& symbol) {
  if (symbol.kind != ptx::Symbol::Kind::kFunction) return e.Invalid(fmt::format("{} is not a function", symbol.name));
  const ptx::Function& callee = e.source().functions[symbol.index];
  if (EmitNodeUpdate(e, callee.name) || EmitDeviceRuntimeCall(e, callee.name)) return;
  if (!callee.has_body) {
    if (const RuntimeFunction* runtime = RuntimeFunctionOf(callee.name)) return CallRuntime(e, *runtime);
    return e.Refuse(fmt::format("function {} is declared but not defined in this module", callee.name));
  }
  llvm::Function* ir_function = e.module().FunctionAt(symbol.index);
  if (ir_function == nullptr || callee.is_entry) return e.Invalid("kernels cannot be called");
  if (e.instruction().call_arguments != callee.prototype.params.size()) return e.Invalid("wrong number of arguments");
  const std::vector<llvm::Value*> arguments = ReadArguments(e, callee.prototype);
  WriteReturns(e, callee.prototype, e.ir.CreateCall(ir_function, arguments));
}

void CallIndirectly(Emitter& e) {
  if (e.instruction().prototype >= e.function().prototypes.size())
    return e.Invalid("an indirect call needs a prototype");
  const ptx::Prototype& prototype = e.function().prototypes[e.instruction().prototype];
  if (e.instruction().call_arguments != prototype.params.size()) return e.Invalid("wrong number of arguments");
  std::vector<llvm::Value*> arguments = {e.Read(e.operand(0), ptx::Type::kU64)};
  for (llvm::Value* value : ReadArguments(e, prototype)) arguments.push_back(value);
  const llvm::FunctionCallee callee = e.module().IndirectCall(e.module().TypeOfFunction(prototype));
  WriteReturns(e, prototype, e.ir.CreateCall(callee, arguments));
}

}  // namespace

void EmitCall(Emitter& e) {
  const ptx::Operand& target = e.operand(0);
  if (target.kind != ptx::OperandKind::kSymbol) return CallIndirectly(e);
  if (target.index >= e.source().symbols.size()) return e.Invalid("call of an unknown function");
  CallDirectly(e, e.source().symbols[target.index]);
}

}  // namespace tutti::compiler::lowering
