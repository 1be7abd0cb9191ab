// Generated code's access to the structures of guest/cpu/kernel_abi.h.
//
// A block's state does not change while the block runs, so each field is loaded once, in the function's prologue.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>

#include <cstddef>

namespace tutti::compiler {

class Abi {
 public:
  // `warp` is the WarpState*, `block` the BlockState* or null (then loaded from the warp). `prologue` is an open block
  // that dominates the function's code.
  Abi(llvm::Value* warp, llvm::Value* block, llvm::BasicBlock* prologue)
      : warp_(warp), block_(block), prologue_(prologue) {}

  llvm::Value* warp() const { return warp_; }
  // Fields by offset, of the type asked for.
  llvm::Value* BlockField(size_t offset, llvm::Type* type);
  llvm::Value* WarpField(size_t offset, llvm::Type* type);
  // What lies at this constant offset of the kernel's parameters, which is known to be in them.
  llvm::Value* Parameter(llvm::Constant* offset, llvm::Type* type);
  // A 64-bit value computed once from fields.
  llvm::Value* Once(llvm::StringRef name, llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&)> make);

  llvm::Value* shared_base();  // i64
  llvm::Value* params_base();  // i64
  llvm::Value* local_base();  // i64
  llvm::Value* warp_index();  // i32
  llvm::Value* services();  // GuestServices*

  // WarpState::lanes, the one field that changes.
  llvm::Value* LanesAddress(llvm::IRBuilder<>& builder);
  // Calls the service at `offset` of GuestServices.
  llvm::CallInst* CallService(llvm::IRBuilder<>& builder, size_t offset, llvm::Type* result,
                              llvm::ArrayRef<llvm::Value*> arguments);

 private:
  llvm::Value* Field(llvm::Value* base, size_t offset, llvm::Type* type);

  llvm::Value* warp_;
  llvm::Value* block_;
  llvm::BasicBlock* prologue_;
  llvm::DenseMap<std::pair<llvm::Value*, uint64_t>, llvm::Value*> fields_;
  llvm::DenseMap<std::pair<llvm::Constant*, llvm::Type*>, llvm::Value*> parameters_;
  llvm::StringMap<llvm::Value*> computed_;
};

}  // namespace tutti::compiler
