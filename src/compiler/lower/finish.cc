#include "compiler/lower/finish.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/DebugInfo.h>

#include <set>
#include <unordered_map>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {
namespace {

constexpr size_t kMaxSlice = 256;  // instructions looked at behind a loop's exit condition

bool IsWait(const llvm::Instruction& instruction, const llvm::Loop& loop) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic();
  if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    // A lock compares with the value of a free lock, always the same. A lock-free update compares with what it found the
    // last time, and some warp always succeeds: it waits for nobody.
    return loop.isLoopInvariant(swap->getCompareOperand());
  }
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    if (update->getOperation() != llvm::AtomicRMWInst::Add) return true;
    const auto* addend = llvm::dyn_cast<llvm::ConstantInt>(update->getValOperand());
    return addend != nullptr && addend->isZero();  // else it draws numbers: work, not waiting
  }
  return false;
}

// True if the condition can depend on something that another warp does to memory.
bool DependsOnWait(llvm::Value* condition, const llvm::Loop& loop) {
  std::set<llvm::Instruction*> seen;
  std::vector<llvm::Value*> work = {condition};
  while (!work.empty() && seen.size() < kMaxSlice) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(work.back());
    work.pop_back();
    if (instruction == nullptr || !loop.contains(instruction) || !seen.insert(instruction).second) continue;
    if (IsWait(*instruction, loop)) return true;
    work.insert(work.end(), instruction->op_begin(), instruction->op_end());
  }
  return false;
}

bool Waits(const llvm::Loop& loop) {
  llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
  loop.getExitingBlocks(exiting);
  for (llvm::BasicBlock* block : exiting) {
    llvm::Instruction* end = block->getTerminator();
    for (llvm::Value* operand : end->operands()) {
      if (DependsOnWait(operand, loop)) return true;
    }
  }
  return false;
}

bool Yields(const llvm::BasicBlock& block) {
  for (const llvm::Instruction& instruction : block) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "tutti.yield") return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses SpinYieldPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  llvm::Module& module = *function.getParent();
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (!Waits(*loop)) continue;
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop->getLoopLatches(latches);
    for (llvm::BasicBlock* latch : latches) {
      if (Yields(*latch)) continue;
      llvm::FunctionCallee yield = module.getOrInsertFunction("tutti.yield", llvm::Type::getVoidTy(module.getContext()));
      llvm::IRBuilder<> ir(latch->getTerminator());
      ir.CreateCall(yield)->setDoesNotThrow();
      changed = true;
    }
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses SettleUndefinedPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    // Vectors are built from nothing, element by element.
    const bool builds = llvm::isa<llvm::InsertElementInst, llvm::InsertValueInst, llvm::ShuffleVectorInst>(instruction);
    for (llvm::Use& operand : instruction.operands()) {
      if (!llvm::isa<llvm::UndefValue>(operand.get())) continue;  // poison is one, too
      if (builds && operand->getType()->isAggregateType()) continue;
      if (builds && operand->getType()->isVectorTy()) continue;
      operand.set(llvm::Constant::getNullValue(operand->getType()));
      changed = true;
    }
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

void AttachLocations(llvm::Module& module) {
  std::unordered_map<uint64_t, std::pair<llvm::Metadata*, llvm::Metadata*>> sources;
  const auto number = [](const llvm::MDNode* row, unsigned i) {
    return llvm::mdconst::extract<llvm::ConstantInt>(row->getOperand(i))->getZExtValue();
  };
  llvm::NamedMDNode* lines = module.getNamedMetadata("tutti.lines");
  if (lines != nullptr) {
    for (const llvm::MDNode* row : lines->operands()) sources[number(row, 0)] = {row->getOperand(1), row->getOperand(2)};
  }
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  const auto constant = [&](uint64_t n) { return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(word, n)); };
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.mayReadOrWriteMemory() && !llvm::isa<llvm::CallBase>(instruction)) continue;
      const uint64_t line = instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0;
      if (line == 0) continue;
      const auto source = sources.find(line);
      llvm::Metadata* none = constant(0);
      instruction.setMetadata("tutti.loc",
                              llvm::MDNode::get(context, {constant(line), source == sources.end() ? none : source->second.first,
                                                          source == sources.end() ? none : source->second.second}));
    }
  }
  if (lines != nullptr) lines->eraseFromParent();
  llvm::StripDebugInfo(module);
}

}  // namespace tutti::compiler::lowering
