#include "compiler/threads/thread_access.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "compiler/runtime/memories.h"
#include "compiler/runtime/thread_state.h"
#include "compiler/threads/thread_emitter.h"
#include "compiler/widen/analysis/span.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

namespace runtime = guest_runtime;
using guest_runtime::ThreadWarp;
using llvm::Instruction;
using llvm::Value;

class ThreadAccess {
 public:
  ThreadAccess(ThreadEmitter& emitter, Instruction& access)
      : emitter_(emitter), builder_(emitter.builder()), access_(access) {
    writes_ = !llvm::isa<llvm::LoadInst>(access);
    llvm::Type* type = nullptr;
    if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) {
      pointer_ = llvm::AtomicRMWInst::getPointerOperandIndex();
      type = atomic->getType();
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) {
      pointer_ = llvm::AtomicCmpXchgInst::getPointerOperandIndex();
      type = exchange->getCompareOperand()->getType();
    } else {
      pointer_ = llvm::isa<llvm::LoadInst>(access) ? llvm::LoadInst::getPointerOperandIndex()
                                                   : llvm::StoreInst::getPointerOperandIndex();
      type = llvm::getLoadStoreType(&access);
    }
    bytes_ = layout().getTypeStoreSize(type);
    align_log2_ = AccessAlignLog2(access);
  }

  void Emit() {
    const bool is_safe = IsInVariable();
    ForgetAlignment();
    if (is_safe) return;
    builder_.SetInsertPoint(&access_);
    Value* offset = builder_.CreatePtrToInt(pointer(), builder_.getInt64Ty());
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(offset))
      offset = llvm::ConstantFoldConstant(constant, layout());
    FindSpace();
    Value* address = base_ != nullptr ? builder_.CreateAdd(offset, base_) : offset;
    Value* host = builder_.CreateIntToPtr(address, builder_.getPtrTy());
    if (!IsSafe(offset)) Check(address);
    access_.setOperand(pointer_, host);
    // Others change what a program says nobody does.
    if (spaces_ != runtime::kParams) access_.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  }

 private:
  const llvm::DataLayout& layout() const { return emitter_.state().module.getDataLayout(); }
  Value* pointer() const { return access_.getOperand(pointer_); }

  // Frames of lanes, and blocks' shared memory, begin at multiples of 16 only. Atomic accesses are of no more.
  void ForgetAlignment() {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&access_);
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&access_);
    if (load != nullptr && !load->isAtomic()) load->setAlignment(llvm::Align(1));
    if (store != nullptr && !store->isAtomic()) store->setAlignment(llvm::Align(1));
  }

  // At a constant place in a variable of .local: a host address already.
  bool IsInVariable() const {
    llvm::APInt offset(64, 0);
    const Value* base = pointer()->stripAndAccumulateConstantOffsets(layout(), offset, /*AllowNonInbounds=*/true);
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base);
    if (variable == nullptr) return false;
    const uint64_t size = variable->getAllocationSize(layout())->getFixedValue();
    return offset.ule(size) && bytes_ <= size - offset.getZExtValue() && offset.countr_zero() >= align_log2_ &&
           llvm::Log2(variable->getAlign()) >= align_log2_;
  }

  void FindSpace() {
    llvm::Type* i64 = builder_.getInt64Ty();
    switch (pointer()->getType()->getPointerAddressSpace()) {
      case 0:
        spaces_ = runtime::kWindow | runtime::kShared | runtime::kLocal | runtime::kParams;
        if (llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer()))) spaces_ = likely_ = runtime::kLocal;
        break;
      case 3:
        spaces_ = likely_ = runtime::kShared;
        base_ = emitter_.WarpThreadsField(offsetof(ThreadWarp, shared_base), i64);
        break;
      case 5: spaces_ = likely_ = runtime::kLocal; break;
      case 101:
        spaces_ = likely_ = runtime::kParams;
        base_ = emitter_.BlockField(offsetof(guest::BlockState, params), i64);
        break;
      default: break;
    }
    if (writes_) spaces_ = (spaces_ & ~runtime::kParams) | runtime::kWrites;
  }

  // At a constant offset in shared memory or the parameters.
  bool IsSafe(const Value* offset) const {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(offset);
    if (constant == nullptr) return false;
    const uint64_t size = likely_ == runtime::kShared   ? emitter_.state().static_shared_bytes
                          : likely_ == runtime::kParams ? (writes_ ? 0 : emitter_.state().param_bytes)
                                                        : 0;
    const uint64_t at = constant->getZExtValue();
    return at <= size && bytes_ <= size - at && (at & ((uint64_t{1} << align_log2_) - 1)) == 0;
  }

  // The base and limit of the memory in which it most likely is; false: it has none.
  bool FindLimits(size_t& base, size_t& limit) const {
    if (bytes_ > runtime::kSpare) return false;
    switch (likely_) {
      case runtime::kWindow:
        base = offsetof(ThreadWarp, window_base);
        limit = offsetof(ThreadWarp, window_limit);
        return true;
      case runtime::kShared:
        base = offsetof(ThreadWarp, shared_base);
        limit = offsetof(ThreadWarp, shared_limit);
        return true;
      case runtime::kLocal:
        base = offsetof(ThreadWarp, local_base);
        limit = offsetof(ThreadWarp, local_limit);
        return true;
      default: return false;
    }
  }

  void Check(Value* address) {
    llvm::Type* i64 = builder_.getInt64Ty();
    Value* outside = builder_.getTrue();
    size_t base = 0, limit = 0;
    if (FindLimits(base, limit)) {
      Value* distance = builder_.CreateSub(address, emitter_.WarpThreadsField(base, i64));
      outside = builder_.CreateICmpUGE(distance, emitter_.WarpThreadsField(limit, i64));
      if (align_log2_ != 0) {
        Value* rest = builder_.CreateAnd(address, builder_.getInt64((uint64_t{1} << align_log2_) - 1));
        outside = builder_.CreateOr(outside, builder_.CreateICmpNE(rest, builder_.getInt64(0)));
      }
    }
    builder_.SetInsertPoint(
        llvm::SplitBlockAndInsertIfThen(outside, &access_, /*Unreachable=*/false,
                                        llvm::MDBuilder(builder_.getContext()).createUnlikelyBranchWeights()));
    llvm::Type *pointer = builder_.getPtrTy(), *i32 = builder_.getInt32Ty();
    auto check = emitter_.state().Runtime("tutti_support_check_thread", builder_.getVoidTy(),
                                          {pointer, pointer, i64, i32, i32, i32, i32});
    builder_.CreateCall(
        check, {emitter_.warp_threads(), emitter_.thread(), address, builder_.getInt32(static_cast<uint32_t>(bytes_)),
                emitter_.Location(access_), builder_.getInt32(spaces_ | align_log2_ << runtime::kAlignShift),
                builder_.getInt32(static_cast<uint32_t>(emitter_.state().param_bytes))});
  }

  ThreadEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  Instruction& access_;
  unsigned pointer_;  // which operand
  uint64_t bytes_ = 0;
  unsigned align_log2_ = 0;
  bool writes_ = false;
  uint32_t spaces_ = runtime::kWindow, likely_ = runtime::kWindow;
  Value* base_ = nullptr;
};

}  // namespace

bool IsAccess(const Instruction& instruction) {
  return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction);
}

void EmitThreadAccess(ThreadEmitter& emitter, Instruction& access) { ThreadAccess(emitter, access).Emit(); }

}  // namespace tutti::compiler
