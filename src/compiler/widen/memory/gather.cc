#include "compiler/widen/memory/gather.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

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

bool CanIndex(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address) {
  return HasInstruction(emitter, element) && address.scale_log2 <= 3;
}

llvm::Value* IndexedPointers(FunctionEmitter& emitter, const IndexedAddress& address, uint64_t offset) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Value* base =
      builder.CreateIntToPtr(builder.CreateAdd(address.base, builder.getInt64(offset)), builder.getPtrTy());
  llvm::Value* index = builder.CreateSExt(address.index, Values::Wide(builder.getInt64Ty()));
  return builder.CreateGEP(builder.getIntNTy(8u << address.scale_log2), base, index);
}

llvm::Value* EmitGatherFrom(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* pointers) {
  llvm::Type* wide = Values::Wide(element);
  return emitter.builder().CreateMaskedGather(wide, pointers, llvm::Align(1), emitter.mask(),
                                              llvm::Constant::getNullValue(wide));
}

void EmitScatterTo(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* pointers) {
  emitter.builder().CreateMaskedScatter(values, pointers, llvm::Align(1), emitter.mask());
}

llvm::Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, llvm::Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* wide = Values::Wide(element);
  if (HasInstruction(emitter, element)) return EmitGatherFrom(emitter, element, Pointers(builder, addresses));
  llvm::Type* integer = builder.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_gather_i" + std::to_string(integer->getIntegerBitWidth());
  llvm::Value* values =
      builder.CreateCall(emitter.module().Runtime(name, vector, {addresses->getType(), builder.getInt32Ty(), vector}),
                         {addresses, emitter.mask_bits(), llvm::Constant::getNullValue(vector)});
  return builder.CreateBitCast(values, wide);
}

void EmitScatter(FunctionEmitter& emitter, llvm::Value* values, llvm::Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* element = values->getType()->getScalarType();
  if (HasInstruction(emitter, element)) return EmitScatterTo(emitter, values, Pointers(builder, addresses));
  llvm::Type* integer = builder.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_scatter_i" + std::to_string(integer->getIntegerBitWidth());
  builder.CreateCall(
      emitter.module().Runtime(name, builder.getVoidTy(), {addresses->getType(), vector, builder.getInt32Ty()}),
      {addresses, builder.CreateBitCast(values, vector), emitter.mask_bits()});
}

}  // namespace tutti::compiler
