#include "compiler/link/sink_rare.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>

#include <map>
#include <vector>

namespace tutti::compiler {
namespace {

constexpr uint64_t kRareRatio = 64;
constexpr size_t kMaxCopies = 16;  // of one instruction: with more it stays where it is

using RareBlocks = llvm::DenseMap<const llvm::BasicBlock*, llvm::BasicBlock*>;

// The cold blocks, each with the head of its cold region: one copy there serves the whole region.
RareBlocks FindRareBlocks(const llvm::DominatorTree& tree) {
  RareBlocks rare;
  for (const llvm::DomTreeNode* node : llvm::depth_first(tree.getRootNode())) {
    llvm::BasicBlock* block = node->getBlock();
    const llvm::DomTreeNode* parent = node->getIDom();
    if (parent != nullptr && rare.count(parent->getBlock()) != 0) {
      rare[block] = rare[parent->getBlock()];
      continue;
    }
    const llvm::BasicBlock* before = block->getSinglePredecessor();
    const auto* branch = before != nullptr ? llvm::dyn_cast<llvm::BranchInst>(before->getTerminator()) : nullptr;
    if (branch == nullptr || !branch->isConditional()) continue;
    if (IsRareEdge(*branch, branch->getSuccessor(0) == block ? 0 : 1)) rare[block] = block;
  }
  return rare;
}

bool IsMovable(const llvm::Instruction& instruction) {
  return !instruction.isTerminator() && !llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) &&
         !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects() && !instruction.use_empty();
}

// The heads of the cold regions that use `instruction`; empty if a hot block uses it, too. A phi uses its operand at
// the end of the incoming block.
llvm::SmallVector<llvm::BasicBlock*, 4> RareUsers(const llvm::Instruction& instruction, const RareBlocks& rare) {
  llvm::SmallVector<llvm::BasicBlock*, 4> heads;
  for (const llvm::Use& use : instruction.uses()) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    const auto found = rare.find(phi != nullptr ? phi->getIncomingBlock(use) : user->getParent());
    if (found == rare.end()) return {};
    if (!llvm::is_contained(heads, found->second)) heads.push_back(found->second);
  }
  return heads;
}

// The code generator makes a sum a part of the access whose address it is, unless something else wants it.
bool IsPartOfAddress(const llvm::Instruction& user, const llvm::Instruction& instruction) {
  if (instruction.getOpcode() == llvm::Instruction::Shl) return user.getOpcode() == llvm::Instruction::Add;
  return instruction.getOpcode() == llvm::Instruction::Add && llvm::isa<llvm::IntToPtrInst>(user);
}

// The same of what hot blocks use as a part of an address only: the cold regions get one of their own.
llvm::SmallVector<llvm::BasicBlock*, 4> RareUsersOfAddress(const llvm::Instruction& instruction,
                                                           const RareBlocks& rare) {
  llvm::SmallVector<llvm::BasicBlock*, 4> heads;
  if (!instruction.getType()->isIntegerTy(64)) return heads;
  for (const llvm::User* user : instruction.users()) {
    const auto* by = llvm::cast<llvm::Instruction>(user);
    if (llvm::isa<llvm::PHINode>(by)) return {};
    const auto found = rare.find(by->getParent());
    if (found == rare.end() && !IsPartOfAddress(*by, instruction)) return {};
    if (found != rare.end() && !llvm::is_contained(heads, found->second)) heads.push_back(found->second);
  }
  return heads;
}

// In the cold regions; elsewhere it stays as it is.
void CopyTo(llvm::Instruction& instruction, const llvm::SmallVectorImpl<llvm::BasicBlock*>& heads,
            const RareBlocks& rare) {
  std::map<const llvm::BasicBlock*, llvm::Instruction*> copies;
  for (llvm::BasicBlock* head : heads) {
    llvm::Instruction* copy = instruction.clone();
    copy->insertInto(head, head->getFirstInsertionPt());
    copy->takeName(&instruction);
    copies[head] = copy;
  }
  for (llvm::Use& use : llvm::make_early_inc_range(instruction.uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    const auto found = rare.find(phi != nullptr ? phi->getIncomingBlock(use) : user->getParent());
    if (found != rare.end()) use.set(copies[found->second]);
  }
}

}  // namespace

bool IsRareEdge(const llvm::BranchInst& branch, unsigned successor) {
  uint64_t taken = 0, other = 0;
  if (!branch.isConditional() || !llvm::extractBranchWeights(branch, taken, other)) return false;
  if (successor == 1) std::swap(taken, other);
  return taken * kRareRatio <= other;
}

llvm::PreservedAnalyses SinkRarePass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  const RareBlocks rare = FindRareBlocks(tree);
  if (rare.empty()) return llvm::PreservedAnalyses::all();
  bool changed = false;
  // Users before operands, so that whole chains move in one pass.
  for (llvm::BasicBlock* block : llvm::post_order(&function)) {
    if (rare.count(block) != 0) continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(*block))) {
      if (!IsMovable(instruction)) continue;
      auto heads = RareUsers(instruction, rare);
      if (heads.empty()) heads = RareUsersOfAddress(instruction, rare);
      if (heads.empty() || heads.size() > kMaxCopies) continue;
      CopyTo(instruction, heads, rare);
      if (instruction.use_empty()) instruction.eraseFromParent();
      changed = true;
    }
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace tutti::compiler
