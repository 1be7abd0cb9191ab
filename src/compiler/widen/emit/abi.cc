#include "compiler/widen/emit/abi.h"

#include <llvm/IR/Instructions.h>

#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

using guest::BlockState;
using guest::WarpState;

llvm::Value* Abi::Field(llvm::Value* base, size_t offset, llvm::Type* type) {
  llvm::Value*& field = fields_[{base, offset}];
  if (field != nullptr) return field;
  llvm::IRBuilder<> builder(prologue_);
  llvm::LoadInst* load =
      builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return field = load;
}

llvm::Value* Abi::WarpField(size_t offset, llvm::Type* type) { return Field(warp_, offset, type); }

llvm::Value* Abi::BlockField(size_t offset, llvm::Type* type) {
  if (block_ == nullptr)
    block_ = WarpField(offsetof(WarpState, block), llvm::PointerType::get(prologue_->getContext(), 0));
  return Field(block_, offset, type);
}

llvm::Value* Abi::Parameter(llvm::Constant* offset, llvm::Type* type) {
  llvm::Value* base = params_base();
  llvm::Value*& parameter = parameters_[{offset, type}];
  if (parameter != nullptr) return parameter;
  llvm::IRBuilder<> builder(prologue_);
  llvm::LoadInst* load = builder.CreateAlignedLoad(
      type, builder.CreateIntToPtr(builder.CreateAdd(base, offset), builder.getPtrTy()), llvm::Align(1));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return parameter = load;
}

llvm::Value* Abi::Once(llvm::StringRef name, llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&)> make) {
  if (llvm::Value* value = computed_.lookup(name)) return value;
  llvm::IRBuilder<> builder(prologue_);
  llvm::Value* value = make(builder);
  computed_[name] = value;
  return value;
}

llvm::Value* Abi::shared_base() {
  return BlockField(offsetof(BlockState, shared), llvm::Type::getInt64Ty(prologue_->getContext()));
}
llvm::Value* Abi::params_base() {
  return BlockField(offsetof(BlockState, params), llvm::Type::getInt64Ty(prologue_->getContext()));
}
llvm::Value* Abi::local_base() {
  return WarpField(offsetof(WarpState, local), llvm::Type::getInt64Ty(prologue_->getContext()));
}
llvm::Value* Abi::warp_index() {
  return WarpField(offsetof(WarpState, warp), llvm::Type::getInt32Ty(prologue_->getContext()));
}
llvm::Value* Abi::services() {
  return BlockField(offsetof(BlockState, services), llvm::PointerType::get(prologue_->getContext(), 0));
}

llvm::Value* Abi::LanesAddress(llvm::IRBuilder<>& builder) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), warp_, offsetof(WarpState, lanes));
}

llvm::CallInst* Abi::CallService(llvm::IRBuilder<>& builder, size_t offset, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Value* table = services();
  llvm::SmallVector<llvm::Type*, 8> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::LoadInst* service =
      builder.CreateLoad(builder.getPtrTy(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), table, offset));
  service->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  llvm::CallInst* call = builder.CreateCall(llvm::FunctionType::get(result, types, false), service, arguments);
  call->setDoesNotThrow();
  // Which one, for link/lockstep.h.
  call->setMetadata("tutti.service",
                    llvm::MDNode::get(builder.getContext(), {llvm::ConstantAsMetadata::get(builder.getInt64(offset))}));
  return call;
}

}  // namespace tutti::compiler
