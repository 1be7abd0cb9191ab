// What the code of a thread (threads.h) can reach: its own state, its warp's, its block's, the device's services.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstddef>

#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/emit/module_state.h"

namespace tutti::compiler {

class ThreadEmitter {
 public:
  // `function`: void(ThreadWarp*, ThreadState*). `frame`: of the kernel's variables in local memory. `has_fma`: the
  // processor.
  ThreadEmitter(llvm::Function& function, ModuleState& state, const LocalFrame& frame, bool has_fma)
      : state_(state),
        frame_(frame),
        has_fma_(has_fma),
        builder_(function.getContext()),
        warp_(function.getArg(0)),
        thread_(function.getArg(1)) {}

  ModuleState& state() { return state_; }
  bool has_fma() const { return has_fma_; }
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::Value* warp_threads() const { return warp_; }  // ThreadWarp*
  llvm::Value* thread() const { return thread_; }  // ThreadState*

  llvm::Value* ThreadField(size_t offset, llvm::Type* type) { return Load(thread_, offset, type); }
  llvm::StoreInst* StoreThreadField(size_t offset, llvm::Value* value) {
    return builder_.CreateStore(value, At(thread_, offset));
  }
  llvm::Value* WarpThreadsField(size_t offset, llvm::Type* type) { return Load(warp_, offset, type); }
  // A value that is kept in the thread's frame, which may be aligned less than the value's type is elsewhere.
  llvm::LoadInst* Kept(size_t offset, llvm::Type* type, llvm::Align align) {
    return builder_.CreateAlignedLoad(type, At(thread_, offset), align);
  }
  void Keep(size_t offset, llvm::Value* value, llvm::Align align) {
    builder_.CreateAlignedStore(value, At(thread_, offset), align);
  }
  // Of guest::WarpState and guest::BlockState.
  llvm::Value* WarpField(size_t offset, llvm::Type* type);
  llvm::Value* BlockField(size_t offset, llvm::Type* type);
  llvm::Value* Lane();  // i32

  // i64: the address of a variable of .local, and of the stack of alloca.
  llvm::Value* LocalAddress(const llvm::AllocaInst& variable) { return LocalAddress(frame_.OffsetOf(variable)); }
  llvm::Value* LocalStack() { return LocalAddress(state_.frame_bytes - state_.stack_bytes); }

  // Calls the service at `offset` of GuestServices, with the warp in front of `arguments`.
  llvm::Value* CallService(size_t offset, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* Location(const llvm::Instruction& instruction) {
    return builder_.getInt32(state_.locations.IndexOf(instruction));
  }

 private:
  llvm::Value* At(llvm::Value* base, size_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }
  llvm::Value* Load(llvm::Value* base, size_t offset, llvm::Type* type) {
    return builder_.CreateLoad(type, At(base, offset));
  }
  llvm::Value* LocalAddress(uint64_t offset);

  ModuleState& state_;
  const LocalFrame& frame_;
  const bool has_fma_;
  llvm::IRBuilder<> builder_;
  llvm::Value *warp_, *thread_;
};

}  // namespace tutti::compiler
