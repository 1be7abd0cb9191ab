#include "compiler/widen/memory/whole.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// Calls access(lane, pointer) for each active lane.
template <typename F>
void ForEachWhole(FunctionEmitter& emitter, Value* addresses, F access) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* word = builder.getInt64Ty();
  llvm::AllocaInst* array = emitter.LaneArray(word);
  builder.CreateStore(addresses, array);
  emitter.ForEachLane(emitter.mask_bits(), [&](Value* lane) {
    Value* address = builder.CreateLoad(word, emitter.LaneElement(array, word, lane));
    access(lane, builder.CreateIntToPtr(address, builder.getPtrTy()));
  });
}

}  // namespace

llvm::SmallVector<Value*, 4> LoadWhole(FunctionEmitter& emitter, llvm::Type* type, Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* element = Values::Component(type, 0);
  llvm::SmallVector<llvm::AllocaInst*, 4> arrays;
  llvm::Type* wide = Values::Wide(element);
  for (unsigned c = 0; c < Values::ComponentCount(type); ++c) {
    arrays.push_back(emitter.LaneArray(element));
    builder.CreateStore(llvm::Constant::getNullValue(wide), arrays[c]);
  }
  ForEachWhole(emitter, addresses, [&](Value* lane, Value* pointer) {
    Value* value = builder.CreateAlignedLoad(type, pointer, llvm::Align(1), true);
    for (unsigned c = 0; c < arrays.size(); ++c)
      builder.CreateStore(builder.CreateExtractElement(value, c), emitter.LaneElement(arrays[c], element, lane));
  });
  llvm::SmallVector<Value*, 4> components;
  for (llvm::AllocaInst* array : arrays) components.push_back(builder.CreateLoad(wide, array));
  return components;
}

void StoreWhole(FunctionEmitter& emitter, llvm::ArrayRef<Value*> components, Value* addresses) {
  llvm::IRBuilder<>& builder = emitter.builder();
  llvm::Type* element = components[0]->getType()->getScalarType();
  llvm::SmallVector<llvm::AllocaInst*, 4> arrays;
  for (Value* component : components) {
    arrays.push_back(emitter.LaneArray(element));
    builder.CreateStore(component, arrays.back());
  }
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(components.size()));
  ForEachWhole(emitter, addresses, [&](Value* lane, Value* pointer) {
    Value* value = llvm::PoisonValue::get(type);
    for (unsigned c = 0; c < components.size(); ++c) {
      Value* own = builder.CreateLoad(element, emitter.LaneElement(arrays[c], element, lane));
      value = builder.CreateInsertElement(value, own, c);
    }
    builder.CreateAlignedStore(value, pointer, llvm::Align(1), true);
  });
}

}  // namespace tutti::compiler
