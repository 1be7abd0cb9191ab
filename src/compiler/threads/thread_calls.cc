#include "compiler/threads/thread_calls.h"

#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <string>

#include "compiler/runtime/thread_state.h"
#include "compiler/threads/thread_emitter.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/warp/special_registers.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::GuestServices;
using guest_runtime::ThreadState;
using llvm::Value;

class ThreadCall {
 public:
  ThreadCall(ThreadEmitter& emitter, llvm::CallInst& call) : emitter_(emitter), call_(call) {}

  void Emit() {
    const IntrinsicCall intrinsic = ClassifyCall(call_);
    if (intrinsic.kind == Intrinsic::kNone) {
      if (llvm::isa<llvm::AssumeInst>(call_)) call_.eraseFromParent();
      return;
    }
    emitter_.builder().SetInsertPoint(&call_);
    Value* result = Result(intrinsic);
    if (!call_.getType()->isVoidTy()) call_.replaceAllUsesWith(result);
    call_.eraseFromParent();
  }

 private:
  Value* Result(const IntrinsicCall& intrinsic) {
    llvm::IRBuilder<>& builder = emitter_.builder();
    llvm::Type *none = builder.getVoidTy(), *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
    switch (intrinsic.kind) {
      case Intrinsic::kTid:
        return emitter_.ThreadField(offsetof(ThreadState, tid) + 4 * static_cast<size_t>(intrinsic.suffix[0] - 'x'),
                                    i32);
      case Intrinsic::kLaneid: return emitter_.Lane();
      case Intrinsic::kWarpid: return emitter_.WarpField(offsetof(guest::WarpState, warp), i32);
      case Intrinsic::kNwarpid: return Warps();
      case Intrinsic::kBlockField:
        return emitter_.BlockField(static_cast<size_t>(BlockFieldOffset(intrinsic.suffix)), call_.getType());
      case Intrinsic::kStack: return emitter_.LocalStack();
      case Intrinsic::kClock: return emitter_.CallService(offsetof(GuestServices, clock), i64, {});
      case Intrinsic::kGlobaltimer: return emitter_.CallService(offsetof(GuestServices, global_timer), i64, {});
      case Intrinsic::kFence: {
        const auto* scope = llvm::dyn_cast<llvm::ConstantInt>(call_.getArgOperand(0));
        return builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, scope != nullptr && scope->isZero()
                                                                                     ? llvm::SyncScope::SingleThread
                                                                                     : llvm::SyncScope::System);
      }
      case Intrinsic::kExit: return nullptr;  // what follows cannot be reached: there the thread ends
      case Intrinsic::kTrap:
        return emitter_.CallService(offsetof(GuestServices, fault), none,
                                    {Argument(0), emitter_.Lane(), builder.getInt64(0), emitter_.Location(call_)});
      case Intrinsic::kAssertFail:
        return emitter_.CallService(
            offsetof(GuestServices, assert_fail), none,
            {emitter_.Lane(), Argument(0), Argument(1), Argument(2), Argument(3), emitter_.Location(call_)});
      case Intrinsic::kPrint:
        Flag(guest::kUsesPrint);
        return emitter_.CallService(offsetof(GuestServices, print), i32, {emitter_.Lane(), Argument(0), Argument(1)});
      case Intrinsic::kMalloc:
        Flag(guest::kUsesHeap);
        return emitter_.CallService(offsetof(GuestServices, allocate), i64, {Argument(0)});
      case Intrinsic::kFree:
        Flag(guest::kUsesHeap);
        return emitter_.CallService(offsetof(GuestServices, release), none, {Argument(0)});
      case Intrinsic::kSetCondition:
        return emitter_.CallService(offsetof(GuestServices, set_condition), none,
                                    {emitter_.Lane(), Argument(0), Argument(1), emitter_.Location(call_)});
      case Intrinsic::kDeviceRuntime:
        return emitter_.CallService(offsetof(GuestServices, device_runtime), i64,
                                    {emitter_.Lane(), Argument(0), Argument(1)});
      case Intrinsic::kFunction: return Function(intrinsic.suffix);
      default: llvm_unreachable("suited.h lets no such kernel pass");
    }
  }

  // Of the guest runtime, for one lane (compiler/runtime/scalar_functions.cc).
  Value* Function(llvm::StringRef suffix) {
    std::string name = "tutti_support_" + suffix.str() + (emitter_.has_fma() ? "_fma" : "");
    std::ranges::replace(name, '.', '_');
    llvm::SmallVector<Value*, 3> arguments(call_.args());
    llvm::SmallVector<llvm::Type*, 3> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    return emitter_.builder().CreateCall(emitter_.state().Runtime(name, call_.getType(), types), arguments);
  }

  Value* Argument(unsigned i) { return call_.getArgOperand(i); }
  void Flag(uint32_t flags) { emitter_.state().flags |= flags; }

  Value* Warps() {
    llvm::IRBuilder<>& builder = emitter_.builder();
    Value* threads = builder.getInt32(guest::kWarpSize - 1);
    Value* product = builder.getInt32(1);
    for (unsigned axis = 0; axis < 3; ++axis) {
      product = builder.CreateMul(
          product, emitter_.BlockField(offsetof(guest::BlockState, block) + 4 * axis, builder.getInt32Ty()));
    }
    return builder.CreateUDiv(builder.CreateAdd(product, threads), builder.getInt32(guest::kWarpSize));
  }

  ThreadEmitter& emitter_;
  llvm::CallInst& call_;
};

}  // namespace

void EmitThreadCall(ThreadEmitter& emitter, llvm::CallInst& call) { ThreadCall(emitter, call).Emit(); }

}  // namespace tutti::compiler
