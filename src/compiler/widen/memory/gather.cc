// AVX-512 gathers and scatters words of 32 and 64 bits. A byte or a half is gathered as the aligned word around it,
// which is shifted to the right: the word lies in the same page, so it can be read, and the rest of it is dropped. All
// else the guest runtime does lane by lane.
#include "compiler/widen/memory/gather.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

unsigned BitsOf(llvm::Type* element) {
  return static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue());
}

bool HasInstruction(FunctionEmitter& emitter, llvm::Type* element) {
  const unsigned bits = BitsOf(element);
  return emitter.module().options.avx512 && (bits == 32 || bits == 64);
}

bool FitsWord(FunctionEmitter& emitter, llvm::Type* element) {
  return emitter.module().options.avx512 && BitsOf(element) < 32;
}

// The guest runtime makes the access, lane by lane.
bool IsOfRuntime(FunctionEmitter& emitter, llvm::Type* element, bool writes) {
  return !HasInstruction(emitter, element) && (writes || !FitsWord(emitter, element));
}

Value* Pointers(llvm::IRBuilder<>& builder, Value* addresses) {
  return builder.CreateIntToPtr(addresses, llvm::FixedVectorType::get(builder.getPtrTy(), kLanes));
}

// The lanes' pointers, in the form that the backend recognises as base and index.
Value* IndexedPointers(llvm::IRBuilder<>& builder, const IndexedAddress& address) {
  Value* base = builder.CreateIntToPtr(address.base, builder.getPtrTy());
  Value* index = builder.CreateSExt(address.index, Values::Wide(builder.getInt64Ty()));
  return builder.CreateGEP(builder.getIntNTy(8u << address.scale_log2), base, index);
}

IndexedAddress Moved(llvm::IRBuilder<>& builder, const IndexedAddress& address, uint64_t offset) {
  IndexedAddress moved = address;
  moved.base = builder.CreateAdd(address.base, builder.getInt64(offset));
  return moved;
}

Value* GatherFrom(FunctionEmitter& emitter, llvm::Type* element, Value* pointers) {
  llvm::Type* wide = Values::Wide(element);
  return emitter.builder().CreateMaskedGather(wide, pointers, llvm::Align(1), emitter.mask(),
                                              llvm::Constant::getNullValue(wide));
}

// Of elements whose index counts them.
Value* GatherByRuntime(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* integer = builder.getIntNTy(BitsOf(element));
  const std::string name = "tutti_gather_at_i" + std::to_string(BitsOf(element));
  const auto function = emitter.module().Runtime(
      name, Values::Wide(integer), {address.base->getType(), address.index->getType(), builder.getInt32Ty()});
  Value* values = builder.CreateCall(function, {address.base, address.index, emitter.mask_bits()});
  return builder.CreateBitCast(values, Values::Wide(element));
}

void ScatterByRuntime(FunctionEmitter& emitter, Value* values, const IndexedAddress& address) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const unsigned bits = BitsOf(values->getType()->getScalarType());
  llvm::Type* wide = Values::Wide(builder.getIntNTy(bits));
  const auto function =
      emitter.module().Runtime("tutti_scatter_at_i" + std::to_string(bits), builder.getVoidTy(),
                               {address.base->getType(), address.index->getType(), wide, builder.getInt32Ty()});
  builder.CreateCall(function, {address.base, address.index, builder.CreateBitCast(values, wide), emitter.mask_bits()});
}

// `at`: where the elements are in the words around them, in bytes, with any bits above the lowest two.
Value* FromWords(llvm::IRBuilder<>& builder, llvm::Type* element, Value* words, Value* at) {
  const auto splat = [&](uint32_t value) { return llvm::ConstantInt::get(words->getType(), value); };
  Value* shift = builder.CreateShl(builder.CreateAnd(at, splat(3)), splat(3));
  Value* value =
      builder.CreateTrunc(builder.CreateLShr(words, shift), Values::Wide(builder.getIntNTy(BitsOf(element))));
  return builder.CreateBitCast(value, Values::Wide(element));
}

// Word i is at (base & ~3) + 4 i. The sum of base and index is made of their parts, as it might not fit 32 bits.
Value* GatherFromWords(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* wide = address.index->getType();
  const auto splat = [&](uint32_t value) { return llvm::ConstantInt::get(wide, value); };
  Value* within = builder.CreateAnd(address.base, uint64_t{3});
  Value* at = builder.CreateVectorSplat(kLanes, builder.CreateTrunc(within, builder.getInt32Ty()));
  IndexedAddress words = address;
  words.base = builder.CreateSub(address.base, within);
  if (address.scale_log2 < 2) {
    const unsigned per_word_log2 = 2 - address.scale_log2;
    Value* low = builder.CreateAnd(address.index, splat((1u << per_word_log2) - 1));
    at = builder.CreateAdd(at, builder.CreateShl(low, address.scale_log2));
    words.index = builder.CreateAdd(builder.CreateAShr(address.index, per_word_log2), builder.CreateLShr(at, 2));
    words.scale_log2 = 2;
  }
  return FromWords(builder, element, GatherFrom(emitter, builder.getInt32Ty(), IndexedPointers(builder, words)), at);
}

}  // namespace

bool CanIndex(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address, bool writes) {
  if (IsOfRuntime(emitter, element, writes)) return BitsOf(element) == 8u << address.scale_log2;
  return address.scale_log2 <= 3 && (HasInstruction(emitter, element) || (!writes && FitsWord(emitter, element)));
}

Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, const IndexedAddress& address, uint64_t offset) {
  const IndexedAddress moved = Moved(emitter.builder(), address, offset);
  if (IsOfRuntime(emitter, element, false)) return GatherByRuntime(emitter, element, moved);
  if (FitsWord(emitter, element)) return GatherFromWords(emitter, element, moved);
  return GatherFrom(emitter, element, IndexedPointers(emitter.builder(), moved));
}

void EmitScatter(FunctionEmitter& emitter, Value* values, const IndexedAddress& address, uint64_t offset) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const IndexedAddress moved = Moved(builder, address, offset);
  if (IsOfRuntime(emitter, values->getType()->getScalarType(), true)) return ScatterByRuntime(emitter, values, moved);
  builder.CreateMaskedScatter(values, IndexedPointers(builder, moved), llvm::Align(1), emitter.mask());
}

Value* EmitGather(FunctionEmitter& emitter, llvm::Type* element, Value* addresses, bool aligned) {
  llvm::IRBuilder<>& builder = emitter.builder();
  if (HasInstruction(emitter, element)) return GatherFrom(emitter, element, Pointers(builder, addresses));
  if (aligned && FitsWord(emitter, element)) {
    Value* words = builder.CreateAnd(addresses, llvm::ConstantInt::getSigned(addresses->getType(), -4));
    return FromWords(builder, element, GatherFrom(emitter, builder.getInt32Ty(), Pointers(builder, words)),
                     builder.CreateTrunc(addresses, Values::Wide(builder.getInt32Ty())));
  }
  llvm::Type* integer = builder.getIntNTy(BitsOf(element));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_gather_i" + std::to_string(integer->getIntegerBitWidth());
  Value* values =
      builder.CreateCall(emitter.module().Runtime(name, vector, {addresses->getType(), builder.getInt32Ty(), vector}),
                         {addresses, emitter.mask_bits(), llvm::Constant::getNullValue(vector)});
  return builder.CreateBitCast(values, Values::Wide(element));
}

void EmitScatter(FunctionEmitter& emitter, Value* values, Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* element = values->getType()->getScalarType();
  if (HasInstruction(emitter, element)) {
    builder.CreateMaskedScatter(values, Pointers(builder, addresses), llvm::Align(1), emitter.mask());
    return;
  }
  llvm::Type* integer = builder.getIntNTy(BitsOf(element));
  llvm::Type* vector = Values::Wide(integer);
  const std::string name = "tutti_scatter_i" + std::to_string(integer->getIntegerBitWidth());
  builder.CreateCall(
      emitter.module().Runtime(name, builder.getVoidTy(), {addresses->getType(), vector, builder.getInt32Ty()}),
      {addresses, builder.CreateBitCast(values, vector), emitter.mask_bits()});
}

}  // namespace tutti::compiler
