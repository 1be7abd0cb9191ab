#include "compiler/lower/local_pointers.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {
namespace {

// An integer as pointer + offset; `pointer` null if it is not based on an alloca.
struct Based {
  llvm::Value* pointer = nullptr;
  llvm::Value* offset = nullptr;
};

constexpr int kMaxDepth = 8;

Based Decompose(llvm::IRBuilder<>& ir, llvm::Value* value, int depth) {
  if (auto* cast = llvm::dyn_cast<llvm::PtrToIntOperator>(value)) {
    llvm::Value* pointer = cast->getPointerOperand();
    if (pointer->getType()->getPointerAddressSpace() == 0 &&
        llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer))) {
      return {pointer, ir.getInt64(0)};
    }
    return {};
  }
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (operation == nullptr || depth == kMaxDepth) return {};
  llvm::Value* left = operation->getOperand(0);
  llvm::Value* right = operation->getOperand(1);
  if (operation->getOpcode() == llvm::Instruction::Sub) {
    const Based base = Decompose(ir, left, depth + 1);
    if (base.pointer == nullptr) return {};
    return {base.pointer, ir.CreateSub(base.offset, right)};
  }
  const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(operation);
  if (operation->getOpcode() != llvm::Instruction::Add && (disjoint == nullptr || !disjoint->isDisjoint())) return {};
  if (const Based base = Decompose(ir, left, depth + 1); base.pointer != nullptr) {
    return {base.pointer, ir.CreateAdd(base.offset, right)};
  }
  if (const Based base = Decompose(ir, right, depth + 1); base.pointer != nullptr) {
    return {base.pointer, ir.CreateAdd(base.offset, left)};
  }
  return {};
}

// Accesses of local memory through the generic address space: the same addresses.
void ReplacePointer(llvm::IntToPtrInst* cast, llvm::Value* pointer) {
  if (cast->getType() == pointer->getType()) {
    cast->replaceAllUsesWith(pointer);
    return;
  }
  for (llvm::Use& use : llvm::make_early_inc_range(cast->uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const bool accesses = llvm::getLoadStorePointerOperand(user) == cast ||
                          (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(user) && use.getOperandNo() == 0);
    if (accesses) use.set(pointer);
  }
  if (cast->use_empty()) return;
  llvm::IRBuilder<> ir(cast);
  cast->replaceAllUsesWith(ir.CreateAddrSpaceCast(pointer, cast->getType()));
}

}  // namespace

llvm::PreservedAnalyses LocalPointersPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  std::vector<llvm::WeakVH> casts;  // one may be deleted as dead while another is replaced
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction);
    if (cast != nullptr && cast->getSrcTy()->isIntegerTy(64)) casts.emplace_back(cast);
  }
  for (const llvm::WeakVH& handle : casts) {
    if (handle == nullptr) continue;
    auto* cast = llvm::cast<llvm::IntToPtrInst>(handle);
    llvm::IRBuilder<> ir(cast);
    const Based base = Decompose(ir, cast->getOperand(0), 0);
    if (base.pointer == nullptr) continue;
    ReplacePointer(cast, ir.CreateGEP(ir.getInt8Ty(), base.pointer, base.offset));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(cast);
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler::lowering
