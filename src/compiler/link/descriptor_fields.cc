#include "compiler/link/descriptor_fields.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include "base/check.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

std::optional<DescriptorFields> DescriptorFields::Of(llvm::Module& module) {
  llvm::GlobalVariable* variable = module.getGlobalVariable(guest::kKernelSymbol);
  if (variable == nullptr || !variable->hasInitializer() ||
      !llvm::isa<llvm::ConstantStruct>(variable->getInitializer()))
    return std::nullopt;
  return DescriptorFields(variable);
}

unsigned DescriptorFields::ElementAt(uint64_t offset) const {
  auto* type = llvm::cast<llvm::StructType>(variable_->getValueType());
  const llvm::StructLayout* layout = variable_->getDataLayout().getStructLayout(type);
  const unsigned element = layout->getElementContainingOffset(offset);
  TUTTI_CHECK(layout->getElementOffset(element) == offset && type->getElementType(element)->isIntegerTy(32));
  return element;
}

uint32_t DescriptorFields::Get32(uint64_t offset) const {
  const auto* field =
      llvm::cast<llvm::ConstantInt>(variable_->getInitializer()->getAggregateElement(ElementAt(offset)));
  return static_cast<uint32_t>(field->getZExtValue());
}

void DescriptorFields::Set32(uint64_t offset, uint32_t value) {
  auto* old = llvm::cast<llvm::ConstantStruct>(variable_->getInitializer());
  llvm::SmallVector<llvm::Constant*, 24> fields;
  for (const llvm::Use& field : old->operands()) fields.push_back(llvm::cast<llvm::Constant>(field.get()));
  fields[ElementAt(offset)] = llvm::ConstantInt::get(llvm::Type::getInt32Ty(variable_->getContext()), value);
  variable_->setInitializer(llvm::ConstantStruct::get(old->getType(), fields));
}

}  // namespace tutti::compiler
