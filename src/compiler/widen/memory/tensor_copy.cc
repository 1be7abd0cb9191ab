#include "compiler/widen/memory/tensor_copy.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstddef>

#include "compiler/runtime/tensor_request.h"
#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using guest_runtime::TensorOperands;
using llvm::Value;

constexpr uint64_t kCopyStackBytes = 8 << 10;  // of tutti_tensor_copy, with the operands

}  // namespace

bool EmitTensorCopy(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  if (intrinsic.kind != Intrinsic::kTensorCopy) return false;
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::AllocaInst* operands =
      emitter.values().Slot(llvm::ArrayType::get(builder.getInt64Ty(), sizeof(TensorOperands) / 8));
  operands->setAlignment(llvm::Align(alignof(TensorOperands)));
  const auto at = [&](size_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), operands, offset);
  };
  const auto pass = [&](unsigned argument, size_t offset) {
    builder.CreateAlignedStore(emitter.values().Vector(call.getArgOperand(argument)), at(offset), llvm::Align(8));
  };
  constexpr size_t kWords = sizeof(TensorOperands::shared);  // of 32 lanes
  pass(1, offsetof(TensorOperands, map));
  pass(2, offsetof(TensorOperands, shared));
  for (unsigned i = 0; i < 5; ++i) pass(3 + i, offsetof(TensorOperands, coordinates) + i * kWords);
  for (unsigned i = 0; i < 3; ++i) pass(8 + i, offsetof(TensorOperands, offsets) + i * kWords);

  llvm::Type *i32 = builder.getInt32Ty(), *pointer = builder.getPtrTy();
  ModuleState& module = emitter.module();
  module.runtime_stack_bytes = std::max(module.runtime_stack_bytes, kCopyStackBytes);
  builder.CreateCall(module.Runtime("tutti_tensor_copy", builder.getVoidTy(), {pointer, i32, i32, i32, i32, pointer}),
                     {emitter.abi().warp(), emitter.mask_bits(), emitter.Location(call),
                      builder.getInt32(static_cast<uint32_t>(module.param_bytes)),
                      emitter.values().Uniform(call.getArgOperand(0)), operands});
  emitter.Define(call,
                 {builder.CreateAlignedLoad(Values::Wide(i32), at(offsetof(TensorOperands, bytes)), llvm::Align(8))});
  return true;
}

}  // namespace tutti::compiler
