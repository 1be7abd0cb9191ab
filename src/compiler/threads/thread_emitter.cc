#include "compiler/threads/thread_emitter.h"

#include "compiler/runtime/thread_state.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

using guest_runtime::ThreadState;
using guest_runtime::ThreadWarp;
using llvm::Value;

Value* ThreadEmitter::WarpField(size_t offset, llvm::Type* type) {
  return Load(WarpThreadsField(offsetof(ThreadWarp, warp), builder_.getPtrTy()), offset, type);
}

Value* ThreadEmitter::BlockField(size_t offset, llvm::Type* type) {
  return Load(WarpThreadsField(offsetof(ThreadWarp, block), builder_.getPtrTy()), offset, type);
}

Value* ThreadEmitter::Lane() { return ThreadField(offsetof(ThreadState, lane), builder_.getInt32Ty()); }

Value* ThreadEmitter::LocalAddress(uint64_t offset) {
  Value* base = WarpThreadsField(offsetof(ThreadWarp, local_base), builder_.getInt64Ty());
  Value* lane = builder_.CreateZExt(Lane(), builder_.getInt64Ty());
  Value* frame = builder_.CreateMul(lane, builder_.getInt64(state_.frame_bytes));
  return builder_.CreateAdd(builder_.CreateAdd(base, frame), builder_.getInt64(offset));
}

Value* ThreadEmitter::CallService(size_t offset, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
  Value* warp = WarpThreadsField(offsetof(ThreadWarp, warp), builder_.getPtrTy());
  Value* services = BlockField(offsetof(guest::BlockState, services), builder_.getPtrTy());
  llvm::SmallVector<Value*, 8> all{warp};
  all.append(arguments.begin(), arguments.end());
  llvm::SmallVector<llvm::Type*, 8> types;
  for (Value* argument : all) types.push_back(argument->getType());
  Value* service = Load(services, offset, builder_.getPtrTy());
  return builder_.CreateCall(llvm::FunctionType::get(result, types, false), service, all);
}

}  // namespace tutti::compiler
