// The operands of a call: its target, what it returns into, its arguments.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

inline const ptx::Operand& ReturnOperand(Emitter& e, size_t i) { return e.operand(1 + i); }
inline const ptx::Operand& ArgumentOperand(Emitter& e, size_t i) {
  return e.operand(1 + e.instruction().call_returns + i);
}

// Given as a value, not in a .param variable.
inline bool IsValue(const ptx::Operand& operand) {
  return operand.kind == ptx::OperandKind::kRegister || operand.kind == ptx::OperandKind::kImmediate ||
         operand.kind == ptx::OperandKind::kSymbol;
}

// Where a .param operand lives, if it holds at least `bytes`; else null, and the call is invalid.
llvm::AllocaInst* ParamStorage(Emitter& e, const ptx::Operand& operand, uint64_t bytes);
llvm::Value* ReadScalarArgument(Emitter& e, size_t i, ptx::Type type);
// Into the first return operand, if there is one.
void WriteScalarReturn(Emitter& e, llvm::Value* value, ptx::Type type);

// Calls of cudaGraphKernelNodeSetParam and cudaGraphKernelNodeUpdatesApply. False if the function is none of them.
bool EmitNodeUpdate(Emitter& e, std::string_view function);
// Calls of the device runtime (guest/device_runtime.h). False if the function is none of it.
bool EmitDeviceRuntimeCall(Emitter& e, std::string_view function);

}  // namespace tutti::compiler::lowering
