#include "compiler/lower/local_pointers.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>

#include "compiler/lower/emitter.h"
#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {
namespace {

constexpr int kMaxDepth = 8;
constexpr int kMaxSteps = 1000;  // of one search: what phis bring in may come from many places

// Finds integers that are the address of an alloca and an offset, through sums, choices and loops, and makes the
// offsets.
class LocalAddress {
 public:
  // Null if not all that `value` may be is based on one alloca.
  llvm::AllocaInst* BaseOf(llvm::Value* value) {
    visited_.clear();
    sides_.clear();
    base_ = nullptr;
    steps_ = 0;
    return IsBased(value, 0) ? base_ : nullptr;
  }

  // Of a value that BaseOf found a base of; made before `before`.
  llvm::Value* OffsetOf(llvm::Value* value, llvm::Instruction* before) {
    llvm::IRBuilder<> ir(before);
    if (auto* cast = llvm::dyn_cast<llvm::PtrToIntOperator>(value)) return Distance(ir, cast->getPointerOperand());
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) return OffsetOfPhi(*phi);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      llvm::Value* left = OffsetOf(select->getTrueValue(), before);
      return ir.CreateSelect(select->getCondition(), left, OffsetOf(select->getFalseValue(), before));
    }
    const unsigned side = sides_.lookup(instruction);
    llvm::Value* offset = OffsetOf(instruction->getOperand(side), before);
    if (instruction->getOpcode() == llvm::Instruction::Sub) return ir.CreateSub(offset, instruction->getOperand(1));
    return ir.CreateAdd(offset, instruction->getOperand(1 - side));
  }

  // The phis whose offsets were made: nothing may be deleted before all are.
  std::vector<llvm::WeakVH> Replaced() const {
    std::vector<llvm::WeakVH> phis;
    for (const auto& [phi, offset] : offsets_) phis.emplace_back(phi);
    return phis;
  }

 private:
  static llvm::Value* AddressOf(llvm::Value* value) {
    auto* cast = llvm::dyn_cast<llvm::PtrToIntOperator>(value);
    return cast == nullptr || cast->getPointerOperand()->getType()->getPointerAddressSpace() != 0
               ? nullptr
               : cast->getPointerOperand();
  }

  static bool IsSum(const llvm::Instruction& instruction) {
    const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
    return instruction.getOpcode() == llvm::Instruction::Add || (disjoint != nullptr && disjoint->isDisjoint());
  }

  bool IsBased(llvm::Value* value, int depth) {
    if (llvm::Value* pointer = AddressOf(value)) {
      auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
      if (alloca == nullptr || (base_ != nullptr && base_ != alloca)) return false;
      base_ = alloca;
      return true;
    }
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || depth == kMaxDepth || ++steps_ > kMaxSteps) return false;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      if (!visited_.insert(phi).second) return true;  // if all else that comes in is
      return llvm::all_of(phi->incoming_values(), [&](llvm::Value* incoming) { return IsBased(incoming, depth + 1); });
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction))
      return IsBased(select->getTrueValue(), depth + 1) && IsBased(select->getFalseValue(), depth + 1);
    if (instruction->getOpcode() == llvm::Instruction::Sub)
      return IsIndex(instruction->getOperand(1)) && IsBased(instruction->getOperand(0), depth + 1);
    return IsSum(*instruction) && (IsBasedSide(*instruction, 0, depth) || IsBasedSide(*instruction, 1, depth));
  }

  // No address of local memory is in it: `p - buffer` is a number, whatever it is added to.
  static bool IsIndex(llvm::Value* value) {
    constexpr size_t kMost = 100;  // values to look at
    llvm::SmallSetVector<llvm::Value*, 16> parts;
    parts.insert(value);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i == kMost || AddressOf(parts[i]) != nullptr) return false;
      auto* part = llvm::dyn_cast<llvm::Instruction>(parts[i]);
      if (part == nullptr || part->mayReadFromMemory()) continue;
      for (llvm::Value* operand : part->operands()) {
        if (operand->getType()->isIntegerTy() && !llvm::isa<llvm::Constant>(operand)) parts.insert(operand);
      }
    }
    return true;
  }

  // One side of a sum. What was assumed on the way is forgotten if it is not.
  bool IsBasedSide(llvm::Instruction& sum, unsigned side, int depth) {
    auto visited = visited_;
    llvm::AllocaInst* base = base_;
    if (IsBased(sum.getOperand(side), depth + 1) && IsIndex(sum.getOperand(1 - side))) {
      sides_[&sum] = side;
      return true;
    }
    visited_ = std::move(visited);
    base_ = base;
    return false;
  }

  // Of the pointer from its alloca.
  llvm::Value* Distance(llvm::IRBuilder<>& ir, llvm::Value* pointer) {
    const llvm::DataLayout& layout = ir.GetInsertBlock()->getModule()->getDataLayout();
    llvm::Value* distance = ir.getInt64(0);
    while (auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      distance = ir.CreateAdd(distance, llvm::emitGEPOffset(&ir, layout, gep));
      pointer = gep->getPointerOperand();
    }
    if (pointer == base_) return distance;
    return ir.CreateAdd(
        distance, ir.CreateSub(ir.CreatePtrToInt(pointer, ir.getInt64Ty()), ir.CreatePtrToInt(base_, ir.getInt64Ty())));
  }

  llvm::Value* OffsetOfPhi(llvm::PHINode& phi) {
    if (llvm::PHINode* made = offsets_.lookup(&phi)) return made;
    auto* offset = llvm::PHINode::Create(phi.getType(), phi.getNumIncomingValues(), phi.getName(), phi.getIterator());
    offsets_[&phi] = offset;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      llvm::BasicBlock* from = phi.getIncomingBlock(i);
      // Several edges from one block bring one value.
      const int same = offset->getBasicBlockIndex(from);
      llvm::Value* incoming = same >= 0 ? offset->getIncomingValue(static_cast<unsigned>(same))
                                        : OffsetOf(phi.getIncomingValue(i), from->getTerminator());
      offset->addIncoming(incoming, from);
    }
    return offset;
  }

  llvm::AllocaInst* base_ = nullptr;
  int steps_ = 0;
  llvm::SmallPtrSet<llvm::PHINode*, 8> visited_;
  llvm::DenseMap<llvm::Instruction*, unsigned> sides_;  // of sums, which operand has the base
  llvm::DenseMap<llvm::PHINode*, llvm::PHINode*> offsets_;
};

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
  bool any = false;
  std::vector<llvm::IntToPtrInst*> casts;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    any |= llvm::isa<llvm::PtrToIntInst>(instruction);
    auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction);
    if (cast == nullptr || !cast->getSrcTy()->isIntegerTy(64)) continue;
    const unsigned space = cast->getType()->getPointerAddressSpace();
    if (space == kLocalSpace || space == 0) casts.push_back(cast);
  }
  if (!any) return llvm::PreservedAnalyses::all();
  LocalAddress address;
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::IntToPtrInst* cast : casts) {
    llvm::AllocaInst* base = address.BaseOf(cast->getOperand(0));
    if (base == nullptr) continue;
    llvm::Value* offset = address.OffsetOf(cast->getOperand(0), cast);
    ReplacePointer(cast, llvm::IRBuilder<>(cast).CreateGEP(llvm::Type::getInt8Ty(cast->getContext()), base, offset));
    replaced.emplace_back(cast);
  }
  if (replaced.empty()) return llvm::PreservedAnalyses::all();
  const std::vector<llvm::WeakVH> phis = address.Replaced();
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  for (const llvm::WeakVH& handle : phis) {
    llvm::Value* phi = handle;
    if (phi != nullptr) llvm::RecursivelyDeleteDeadPHINode(llvm::cast<llvm::PHINode>(phi));
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler::lowering
