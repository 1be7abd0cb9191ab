#include "compiler/lower/moving_pointers.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {
namespace {

constexpr unsigned kMostDepth = 6;  // of sums, and of what an index was made of

bool IsSum(const llvm::Instruction& instruction) {
  const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
  return instruction.getOpcode() == llvm::Instruction::Add || (disjoint != nullptr && disjoint->isDisjoint());
}

// What was loaded differs between lanes in no way that widening knows; sums with thread indices it knows.
bool ComesFromMemory(const llvm::Value* value, unsigned depth = 0) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kMostDepth) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction))
    return load->getPointerAddressSpace() != kParamSpace;  // parameters are the same in all lanes
  if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::PHINode, llvm::SelectInst>(instruction)) return false;
  return llvm::any_of(instruction->operands(),
                      [&](const llvm::Use& operand) { return ComesFromMemory(operand.get(), depth + 1); });
}

// The 32-bit indices from memory among the terms of a sum.
unsigned Indices(const llvm::Value* value, unsigned depth = 0) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kMostDepth) return 0;
  if (IsSum(*instruction))
    return Indices(instruction->getOperand(0), depth + 1) + Indices(instruction->getOperand(1), depth + 1);
  if (instruction->getOpcode() == llvm::Instruction::Shl && llvm::isa<llvm::ConstantInt>(instruction->getOperand(1)))
    return Indices(instruction->getOperand(0), depth + 1);
  if (!llvm::isa<llvm::ZExtInst, llvm::SExtInst>(instruction)) return 0;
  const llvm::Value* index = instruction->getOperand(0);
  return index->getType()->isIntegerTy(32) && ComesFromMemory(index) ? 1 : 0;
}

bool IsAddress(const llvm::Value& value, unsigned depth = 0) {
  return llvm::any_of(value.users(), [&](const llvm::User* user) {
    const auto* instruction = llvm::cast<llvm::Instruction>(user);
    if (llvm::isa<llvm::IntToPtrInst>(instruction)) return true;
    return depth < 2 && IsSum(*instruction) && IsAddress(*instruction, depth + 1);
  });
}

// Of one block: by the steps that they make.
using Distances = llvm::SmallDenseMap<std::pair<const llvm::Value*, const llvm::BasicBlock*>, llvm::PHINode*, 4>;

// What `phi` has moved since the loop's start, by `next`, in place of the value from `back`. Pointers that move alike
// share one, and are counted by one counter.
llvm::PHINode* DistanceOf(llvm::PHINode& phi, llvm::BinaryOperator& next, unsigned back, Distances& distances) {
  llvm::PHINode*& distance = distances[{next.getOperand(1), phi.getIncomingBlock(back)}];
  if (distance != nullptr) return distance;
  llvm::IRBuilder<> ir(&phi);
  distance = ir.CreatePHI(phi.getType(), 2);
  ir.SetInsertPoint(&next);
  llvm::Value* farther = ir.CreateAdd(distance, next.getOperand(1));
  distance->addIncoming(ir.getInt64(0), phi.getIncomingBlock(1 - back));
  distance->addIncoming(farther, phi.getIncomingBlock(back));
  return distance;
}

// True if it was one.
bool Split(llvm::PHINode& phi, Distances& distances) {
  if (!phi.getType()->isIntegerTy(64) || phi.getNumIncomingValues() != 2) return false;
  for (unsigned back = 0; back < 2; ++back) {
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValue(back));
    llvm::Value* start = phi.getIncomingValue(1 - back);
    if (next == nullptr || !IsSum(*next) || next->getOperand(0) != &phi ||
        !llvm::isa<llvm::ConstantInt>(next->getOperand(1)) || Indices(start) != 1 || !IsAddress(phi))
      continue;
    llvm::PHINode* distance = DistanceOf(phi, *next, back, distances);
    llvm::IRBuilder<> ir(phi.getParent(), phi.getParent()->getFirstInsertionPt());
    phi.replaceAllUsesWith(ir.CreateAdd(start, distance));
    phi.eraseFromParent();
    return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses MovingPointersPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    Distances distances;
    for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis())) changed |= Split(phi, distances);
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler::lowering
