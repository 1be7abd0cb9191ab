#include "compiler/widen/memory/rare_access.h"

#include <llvm/IR/Constants.h>

#include <string>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/address_check.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

class RareAccess {
 public:
  RareAccess(FunctionEmitter& emitter, const Value* pointer, const Region& region, llvm::Type* element)
      : RareAccess(emitter, pointer, region, static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue())) {
  }
  RareAccess(FunctionEmitter& emitter, const Value* pointer, const Region& region, unsigned bits)
      : emitter_(emitter), builder_(emitter.builder()), bits_(bits) {
    Values& values = emitter.values();
    const Shape& shape = emitter.shape(pointer);
    if (shape.is_runs() && shape.run() == kLanes && shape.wraps().empty()) {
      // From the first lane on: then accesses at many offsets share a table.
      llvm::Constant* const offsets = Values::ConstantLanes(builder_.getInt64Ty(), shape);
      llvm::Constant* const first = offsets->getAggregateElement(0u);
      base_ = builder_.CreateAdd(values.Base(pointer), first);
      distances_ = emitter.module().Table(llvm::cast<llvm::Constant>(
          builder_.CreateSub(offsets, llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), first))));
      if (region.base != nullptr) base_ = builder_.CreateAdd(base_, region.base);
    } else {
      addresses_ = values.Vector(pointer);
      if (region.base != nullptr)
        addresses_ = builder_.CreateAdd(addresses_, builder_.CreateVectorSplat(kLanes, region.base));
    }
  }

  llvm::Type* integers() { return Values::Wide(builder_.getIntNTy(bits_)); }
  uint64_t bytes() const { return bits_ / 8; }  // of an element
  // `check`: of the element's address, for `checked_bytes`; 0: it has been checked.
  Value* Load(unsigned element, const AddressCheck& check, uint64_t checked_bytes) {
    return Call("tutti_rare_load", suffix(), element, check, checked_bytes, integers(), nullptr);
  }
  void Store(unsigned element, const AddressCheck& check, uint64_t checked_bytes, Value* values) {
    values = builder_.CreateBitCast(values, integers());
    Call("tutti_rare_store", suffix(), element, check, checked_bytes, builder_.getVoidTy(), values);
  }
  void Check(const AddressCheck& check, uint64_t bytes) {
    Call("tutti_check_lanes", "", 0, check, bytes, builder_.getVoidTy(), nullptr);
  }

 private:
  std::string suffix() const { return "_i" + std::to_string(bits_); }
  Value* Call(std::string name, const std::string& suffix, unsigned element, const AddressCheck& check,
              uint64_t checked_bytes, llvm::Type* result, Value* stored) {
    llvm::SmallVector<Value*, 7> arguments = {emitter_.abi().warp()};
    Value* at = addresses_ != nullptr ? addresses_ : base_;
    if (element != 0) at = builder_.CreateAdd(at, llvm::ConstantInt::get(at->getType(), element * bytes()));
    arguments.push_back(at);
    if (addresses_ == nullptr) {
      arguments.push_back(distances_);
      name += "_run";
    }
    const uint32_t what = checked_bytes != 0 ? check.what(checked_bytes) : 0;
    arguments.append({emitter_.mask_bits(), builder_.getInt32(what), builder_.getInt64(check.place())});
    if (stored != nullptr) arguments.push_back(stored);
    llvm::SmallVector<llvm::Type*, 7> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    return builder_.CreateCall(emitter_.module().Runtime(name + suffix, result, types), arguments);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const unsigned bits_;  // of an element
  // Where the lanes are: each by itself, or all at distances from one.
  Value* addresses_ = nullptr;
  Value* base_ = nullptr;
  Value* distances_ = nullptr;
};

}  // namespace

void EmitRareCheck(FunctionEmitter& emitter, const Value* pointer, const Region& region, const AddressCheck& check,
                   uint64_t bytes) {
  RareAccess(emitter, pointer, region, 0u).Check(check, bytes);
}

llvm::SmallVector<Value*, 4> EmitRareLoad(FunctionEmitter& emitter, const Value* pointer, const Region& region,
                                          const AddressCheck& check, llvm::Type* element, unsigned count) {
  RareAccess access(emitter, pointer, region, element);
  llvm::SmallVector<Value*, 4> loaded;
  // The check of the first element is that of all.
  for (unsigned i = 0; i < count; ++i) {
    Value* values = access.Load(i, check, i == 0 ? count * access.bytes() : 0);
    loaded.push_back(emitter.builder().CreateBitCast(values, Values::Wide(element)));
  }
  return loaded;
}

void EmitRareStore(FunctionEmitter& emitter, const Value* pointer, const Region& region, const AddressCheck& check,
                   llvm::ArrayRef<Value*> values) {
  RareAccess access(emitter, pointer, region, values[0]->getType()->getScalarType());
  for (unsigned i = 0; i < values.size(); ++i)
    access.Store(i, check, i == 0 ? values.size() * access.bytes() : 0, values[i]);
}

llvm::SmallVector<Value*, 4> EmitRareRowLoad(FunctionEmitter& emitter, const Row& row, const Region& region,
                                             llvm::Type* element) {
  RareAccess access(emitter, row.low, region, element);
  llvm::SmallVector<Value*, 4> loaded(row.elements, llvm::PoisonValue::get(Values::Wide(element)));
  for (const Row::Member& member : row.members) {
    Value* values = access.Load(member.element, {emitter, region, *member.access}, access.bytes());
    loaded[member.element] = emitter.builder().CreateBitCast(values, Values::Wide(element));
  }
  return loaded;
}

void EmitRareRowStore(FunctionEmitter& emitter, const Row& row, const Region& region, llvm::ArrayRef<Value*> values) {
  RareAccess access(emitter, row.low, region, values[0]->getType()->getScalarType());
  for (const Row::Member& member : row.members)
    access.Store(member.element, {emitter, region, *member.access}, access.bytes(), values[member.element]);
}

void EmitPartialStore(FunctionEmitter& emitter, Value* address, Value* values, Value* mask) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const auto* type = llvm::cast<llvm::FixedVectorType>(values->getType());
  llvm::Type* integer = builder.getIntNTy(type->getScalarSizeInBits());
  // The function takes 32 elements.
  llvm::SmallVector<int, kLanes> lanes(kLanes, -1);
  for (unsigned i = 0; i < type->getNumElements(); ++i) lanes[i] = static_cast<int>(i);
  values = builder.CreateShuffleVector(builder.CreateBitCast(values, type->getWithNewType(integer)), lanes);
  Value* bits =
      builder.CreateZExt(builder.CreateBitCast(mask, builder.getIntNTy(type->getNumElements())), builder.getInt32Ty());
  const std::string name = "tutti_rare_store_part_i" + std::to_string(integer->getIntegerBitWidth());
  builder.CreateCall(
      emitter.module().Runtime(name, builder.getVoidTy(), {address->getType(), bits->getType(), values->getType()}),
      {address, bits, values});
}

}  // namespace tutti::compiler
