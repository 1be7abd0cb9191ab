#include "compiler/lower/first_zeroes.h"

#include <llvm/IR/Dominators.h>

#include "compiler/lower/llvm.h"

namespace tutti::compiler::lowering {
namespace {

constexpr size_t kMostStores = 8;  // of one register, to check against each other

struct Accesses {
  llvm::StoreInst* zero = nullptr;
  llvm::SmallVector<llvm::StoreInst*, kMostStores> stores;
  llvm::SmallVector<llvm::LoadInst*, 8> loads;
};

// False if the alloca has other uses than loads and stores: then it is no register.
bool Collect(llvm::AllocaInst& alloca, Accesses& accesses) {
  for (llvm::User* user : alloca.users()) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      accesses.loads.push_back(load);
      continue;
    }
    auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getValueOperand() == &alloca) return false;
    const auto* value = llvm::dyn_cast<llvm::Constant>(store->getValueOperand());
    const bool begins = store->getPrevNode() == &alloca && value != nullptr && value->isNullValue();
    if (begins) {
      accesses.zero = store;
    } else {
      accesses.stores.push_back(store);
    }
  }
  return accesses.zero != nullptr;
}

// Whether no load sees the zero. If all accesses are in one block the first one decides, however many there are.
bool IsNeverRead(const Accesses& accesses, const llvm::DominatorTree& dominators) {
  if (accesses.loads.empty()) return true;
  if (accesses.stores.empty()) return false;
  const auto earlier = [](const llvm::Instruction* a, const llvm::Instruction* b) { return a->comesBefore(b); };
  const llvm::BasicBlock* const block = accesses.stores.front()->getParent();
  const auto here = [&](const llvm::Instruction* access) { return access->getParent() == block; };
  if (std::ranges::all_of(accesses.stores, here) && std::ranges::all_of(accesses.loads, here)) {
    return earlier(*std::ranges::min_element(accesses.stores, earlier),
                   *std::ranges::min_element(accesses.loads, earlier));
  }
  if (accesses.stores.size() > kMostStores) return false;
  return std::ranges::all_of(accesses.loads, [&](const llvm::LoadInst* load) {
    return std::ranges::any_of(accesses.stores,
                               [&](const llvm::StoreInst* store) { return dominators.dominates(store, load); });
  });
}

}  // namespace

llvm::PreservedAnalyses FirstZeroesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  llvm::SmallVector<llvm::StoreInst*, 32> unread;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* const alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    Accesses accesses;
    if (alloca != nullptr && Collect(*alloca, accesses) && IsNeverRead(accesses, dominators))
      unread.push_back(accesses.zero);
  }
  if (unread.empty()) return llvm::PreservedAnalyses::all();
  for (llvm::StoreInst* zero : unread) zero->eraseFromParent();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tutti::compiler::lowering
