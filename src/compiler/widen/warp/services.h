// Services of the device: barriers, yielding, printing, the device heap, clocks, and early ends of a kernel.
#pragma once

#include <llvm/IR/Instructions.h>

#include "compiler/widen/analysis/intrinsics.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

class FunctionEmitter;

// False if `intrinsic` is not one of these.
bool EmitService(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic);

// Ends the kernel if any of `lanes` (i32) is set; they are the lanes that the mistake names.
void EmitMistake(FunctionEmitter& emitter, const llvm::CallInst& call, guest::WarpMistake what, llvm::Value* lanes);

// How threads wait at this barrier, if they do.
guest::BarrierMode WaitModeOf(const llvm::CallInst& barrier);

// Ends the kernel with a fault of the lowest active lane. `kind` (i32) is a guest::FaultKind.
void EmitTrap(FunctionEmitter& emitter, const llvm::Instruction& instruction, llvm::Value* kind);

}  // namespace tutti::compiler
