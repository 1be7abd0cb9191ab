#include "compiler/widen/gather.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/function_emitter.h"

namespace tutti::compiler {
namespace {

bool HasInstruction(FunctionEmitter& emitter, llvm::Type* element) {
  const unsigned bits = static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue());
  return emitter.module().options.avx512 && (bits == 32 || bits == 64);
}

llvm::Value* Pointers(llvm::IRBuilder<>& builder, llvm::Value* addresses) {
  return builder.CreateIntToPtr(addresses, llvm::FixedVectorType::get(builder.getPtrTy(), kLanes));
}

}  // namespace

llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* wide = Values::Wide(element);
  if (HasInstruction(emitter, element)) {
    return builder.CreateMaskedGather(wide, Pointers(builder, addresses), llvm::Align(1), emitter.mask(), llvm::Constant::getNullValue(wide));
  }
  llvm::Type* integer = builder.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_gather_i" + std::to_string(integer->getIntegerBitWidth());
  llvm::Value* values = builder.CreateCall(emitter.module().Runtime(name, vector, {addresses->getType(), builder.getInt32Ty(), vector}),
                                           {addresses, emitter.mask_bits(), llvm::Constant::getNullValue(vector)});
  return builder.CreateBitCast(values, wide);
}

void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* element = values->getType()->getScalarType();
  if (HasInstruction(emitter, element)) {
    builder.CreateMaskedScatter(values, Pointers(builder, addresses), llvm::Align(1), emitter.mask());
    return;
  }
  llvm::Type* integer = builder.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_scatter_i" + std::to_string(integer->getIntegerBitWidth());
  builder.CreateCall(emitter.module().Runtime(name, builder.getVoidTy(), {addresses->getType(), vector, builder.getInt32Ty()}),
                     {addresses, builder.CreateBitCast(values, vector), emitter.mask_bits()});
}

}  // namespace tutti::compiler
