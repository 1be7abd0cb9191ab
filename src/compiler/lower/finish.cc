#include "compiler/lower/finish.h"

#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfo.h>

#include <unordered_map>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {

llvm::PreservedAnalyses IntegerAddressesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
    if (gep == nullptr || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(gep))) continue;
    llvm::IRBuilder<> ir(gep);
    llvm::Value* base = gep->getPointerOperand();
    auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(base);
    llvm::Value* address = cast != nullptr ? cast->getOperand(0) : ir.CreatePtrToInt(base, ir.getInt64Ty());
    llvm::Value* offset = llvm::emitGEPOffset(&ir, layout, gep, /*NoAssumptions=*/true);
    gep->replaceAllUsesWith(ir.CreateIntToPtr(ir.CreateAdd(address, offset), gep->getType()));
    gep->eraseFromParent();
    changed = true;
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
    for (const llvm::MDNode* row : lines->operands())
      sources[number(row, 0)] = {row->getOperand(1), row->getOperand(2)};
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
      instruction.setMetadata(
          "tutti.loc",
          llvm::MDNode::get(context, {constant(line), source == sources.end() ? none : source->second.first,
                                      source == sources.end() ? none : source->second.second}));
    }
  }
  if (lines != nullptr) lines->eraseFromParent();
  llvm::StripDebugInfo(module);
}

}  // namespace tutti::compiler::lowering
