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
  RareAccess(FunctionEmitter& emitter, const Value* pointer, const Region& region, const AddressCheck& check,
             llvm::Type* element, unsigned count)
      : emitter_(emitter),
        builder_(emitter.builder()),
        check_(check),
        bits_(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue())),
        bytes_(uint64_t{count} * bits_ / 8) {
    Values& values = emitter.values();
    const Shape& shape = emitter.shape(pointer);
    if (shape.is_runs() && shape.run() == kLanes && shape.wraps().empty()) {
      base_ = values.Base(pointer);
      distances_ = emitter.module().Table(Values::ConstantLanes(builder_.getInt64Ty(), shape));
      if (region.base != nullptr) base_ = builder_.CreateAdd(base_, region.base);
    } else {
      addresses_ = values.Vector(pointer);
      if (region.base != nullptr)
        addresses_ = builder_.CreateAdd(addresses_, builder_.CreateVectorSplat(kLanes, region.base));
    }
  }

  llvm::Type* integers() { return Values::Wide(builder_.getIntNTy(bits_)); }
  Value* Load(unsigned element) { return Call("tutti_rare_load", element, integers(), nullptr); }
  void Store(unsigned element, Value* values) { Call("tutti_rare_store", element, builder_.getVoidTy(), values); }

 private:
  Value* Call(std::string name, unsigned element, llvm::Type* result, Value* stored) {
    llvm::SmallVector<Value*, 7> arguments = {emitter_.abi().warp()};
    Value* at = addresses_ != nullptr ? addresses_ : base_;
    if (element != 0) at = builder_.CreateAdd(at, llvm::ConstantInt::get(at->getType(), uint64_t{element} * bits_ / 8));
    arguments.push_back(at);
    if (addresses_ == nullptr) {
      arguments.push_back(distances_);
      name += "_run";
    }
    // The check of the first element is that of all.
    const uint32_t what = element == 0 ? check_.what(bytes_) : 0;
    arguments.append({emitter_.mask_bits(), builder_.getInt32(what), builder_.getInt64(check_.place())});
    if (stored != nullptr) arguments.push_back(stored);
    llvm::SmallVector<llvm::Type*, 7> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    return builder_.CreateCall(emitter_.module().Runtime(name + "_i" + std::to_string(bits_), result, types),
                               arguments);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const AddressCheck& check_;
  const unsigned bits_;   // of an element
  const uint64_t bytes_;  // that are checked at each lane's address
  // Where the lanes are: each by itself, or all at distances from one.
  Value* addresses_ = nullptr;
  Value* base_ = nullptr;
  Value* distances_ = nullptr;
};

}  // namespace

llvm::SmallVector<Value*, 4> EmitRareLoad(FunctionEmitter& emitter, const Value* pointer, const Region& region,
                                          const AddressCheck& check, llvm::Type* element, unsigned count) {
  RareAccess access(emitter, pointer, region, check, element, count);
  llvm::SmallVector<Value*, 4> loaded;
  for (unsigned i = 0; i < count; ++i)
    loaded.push_back(emitter.builder().CreateBitCast(access.Load(i), Values::Wide(element)));
  return loaded;
}

void EmitRareStore(FunctionEmitter& emitter, const Value* pointer, const Region& region, const AddressCheck& check,
                   llvm::ArrayRef<Value*> values) {
  RareAccess access(emitter, pointer, region, check, values[0]->getType()->getScalarType(),
                    static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < values.size(); ++i)
    access.Store(i, emitter.builder().CreateBitCast(values[i], access.integers()));
}

}  // namespace tutti::compiler
