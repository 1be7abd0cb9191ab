#include "compiler/widen/emit/module_state.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace tutti::compiler {
namespace {

// The i-th number of !tutti.kernel (compiler/ir_contract.md).
uint32_t KernelNumber(const llvm::Module& module, unsigned i) {
  const llvm::NamedMDNode* numbers = module.getNamedMetadata("tutti.kernel");
  if (numbers == nullptr || numbers->getNumOperands() == 0 || numbers->getOperand(0)->getNumOperands() <= i) return 0;
  const auto* constant = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(numbers->getOperand(0)->getOperand(i));
  return constant != nullptr ? static_cast<uint32_t>(constant->getZExtValue()) : 0;
}

}  // namespace

ModuleState::ModuleState(llvm::Module& scalar, const WidenOptions& how)
    : module(scalar),
      options(how),
      block(how.block),
      param_bytes(KernelNumber(scalar, 2)),
      constant_bytes(KernelNumber(scalar, 3)),
      static_shared_bytes(KernelNumber(scalar, 0)) {}

uint32_t LocationTable::IndexOf(const llvm::Instruction& instruction) {
  const llvm::MDNode* node = instruction.getMetadata("tutti.loc");
  if (node == nullptr || node->getNumOperands() < 3) return kUnknown;
  const auto number = [&](unsigned i) {
    const auto* constant = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(i));
    return constant != nullptr ? static_cast<uint32_t>(constant->getZExtValue()) : 0;
  };
  const Location location{number(0), number(1), number(2)};
  const auto [entry, added] = index_.try_emplace(location, static_cast<uint32_t>(locations_.size()));
  if (added) locations_.push_back(location);
  return entry->second;
}

llvm::GlobalVariable* ModuleState::Table(llvm::Constant* lanes) {
  llvm::GlobalVariable*& table = tables[lanes];
  if (table == nullptr) {
    table = new llvm::GlobalVariable(module, lanes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                     lanes, "tutti.lanes");
    table->setAlignment(llvm::Align(8));
  }
  return table;
}

llvm::FunctionCallee ModuleState::Runtime(llvm::StringRef name, llvm::Type* result,
                                          llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) function->setDoesNotThrow();
  return callee;
}

}  // namespace tutti::compiler
