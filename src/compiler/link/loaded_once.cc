#include "compiler/link/loaded_once.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "compiler/link/rounds.h"

namespace tutti::compiler {
namespace {

using llvm::Instruction;
using llvm::Value;

// The compiler's own memory: variables, and what the runtime keeps of warps and blocks. Guest addresses are integers,
// but what a step is given of the values of its block may be made of one.
bool IsOwn(const Value* pointer) {
  while (const auto* moved = llvm::dyn_cast<llvm::GEPOperator>(pointer)) pointer = moved->getPointerOperand();
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(pointer))
    return !argument->getParent()->getName().starts_with("tutti.step") || argument->getArgNo() < Step::kValues;
  return llvm::isa<llvm::AllocaInst, llvm::GlobalValue>(pointer);
}

// It only passes on a value, or a part of one, be it as a number of another kind.
bool Moves(const Instruction& instruction) {
  return llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::BitCastInst, llvm::FPToSIInst, llvm::FPToUIInst,
                   llvm::FPExtInst, llvm::FPTruncInst, llvm::FreezeInst, llvm::ShuffleVectorInst,
                   llvm::ExtractElementInst, llvm::InsertElementInst, llvm::ExtractValueInst, llvm::InsertValueInst>(
      instruction);
}

// Of a struct, as operations that carry return it: some of it.
bool IsOfIntegers(const llvm::Type& type) {
  if (const auto* structure = llvm::dyn_cast<llvm::StructType>(&type))
    return llvm::any_of(structure->elements(), [](const llvm::Type* element) { return IsOfIntegers(*element); });
  return type.isIntOrIntVectorTy() || type.isPtrOrPtrVectorTy();
}

// From where accesses and branches are decided, back to the loads.
class Deciders {
 public:
  explicit Deciders(llvm::Function& function) {
    for (Instruction& instruction : llvm::instructions(function)) FindDecided(instruction);
  }

  void MarkLoads() {
    while (!work_.empty()) {
      Instruction& instruction = *work_.pop_back_val();
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        if (!load->hasMetadata(llvm::LLVMContext::MD_invariant_load) && !IsOwn(load->getPointerOperand()))
          load->setVolatile(true);
        continue;
      }
      for (Value* operand : instruction.operands()) {
        // Of numbers that are computed, in floating point or as their comparison, there is one each.
        if (Moves(instruction) || (IsOfIntegers(*instruction.getType()) && IsOfIntegers(*operand->getType())))
          Add(operand);
      }
    }
  }

 private:
  void Add(Value* value) {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction != nullptr && seen_.insert(instruction).second) work_.push_back(instruction);
  }

  void FindDecided(Instruction& instruction) {
    if (Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
      Add(pointer);
      // It may be loaded from there, as an index.
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store != nullptr && IsOwn(pointer))
        Add(store->getValueOperand());
    } else if (instruction.isTerminator() || instruction.mayReadOrWriteMemory()) {
      for (Value* operand : instruction.operands()) Add(operand);
    }
  }

  llvm::SmallPtrSet<const Instruction*, 32> seen_;
  llvm::SmallVector<Instruction*, 32> work_;
};

}  // namespace

void LoadOnce(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Deciders(function).MarkLoads();
  }
}

}  // namespace tutti::compiler
