#include "compiler/link/rare_paths.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace tutti::compiler {
namespace {

// The function's assumed entry count, to which branch weights are relative; any number does.
constexpr uint64_t kEntryCount = 1000;

// The rare functions of the guest runtime (runtime/address_check.cc, rare_access.cc).
bool IsRare(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  return function.hasLocalLinkage() &&
         (name == "tutti_check" || name.starts_with("tutti_check_lanes") || name.starts_with("tutti_rare_"));
}

void CallKeepingVectors(llvm::Function& function) {
  for (const llvm::User* user : function.users()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || call->getCalledFunction() != &function) return;  // used other than by a direct call
  }
  function.setCallingConv(llvm::CallingConv::Intel_OCL_BI);
  // With AVX-512 this convention does not preserve the frame pointer, which callers with aligned or variable frames
  // rely on all the same: a function with a frame of its own restores theirs.
  function.addFnAttr("frame-pointer", "all");
  // LLVM clears the upper halves of ymm0 to ymm15 before any function returns that does not return vectors, also of
  // those that the convention has just restored.
  const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
  function.addFnAttr("target-features", features.empty() ? "-vzeroupper" : (features + ",-vzeroupper").str());
  for (llvm::User* user : function.users()) llvm::cast<llvm::CallBase>(user)->setCallingConv(function.getCallingConv());
}

llvm::Instruction* CloneBefore(llvm::Instruction& value, llvm::Instruction& user) {
  llvm::Instruction* copy = value.clone();
  copy->insertBefore(user.getIterator());
  user.replaceUsesOfWith(&value, copy);
  return copy;
}

// Puts the address of a gather or scatter, base[index], into its block, where the code generator sees that the index
// has 32 bits.
void BringAddress(llvm::IntrinsicInst& access) {
  const bool is_gather = access.getIntrinsicID() == llvm::Intrinsic::masked_gather;
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(access.getArgOperand(is_gather ? 0 : 1));
  if (address == nullptr || address->getNumIndices() != 1 || address->getPointerOperandType()->isVectorTy()) return;
  if (address->getParent() != access.getParent()) {
    address = llvm::cast<llvm::GetElementPtrInst>(CloneBefore(*address, access));
  }
  auto* index = llvm::dyn_cast<llvm::CastInst>(address->getOperand(1));
  if (index != nullptr && index->getParent() != address->getParent()) CloneBefore(*index, *address);
}

}  // namespace

void KeepRarePathsApart(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (IsRare(function)) CallKeepingVectors(function);
    if (function.isDeclaration()) continue;
    function.setEntryCount(kEntryCount);
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call == nullptr) continue;
      const llvm::Intrinsic::ID id = call->getIntrinsicID();
      if (id == llvm::Intrinsic::masked_gather || id == llvm::Intrinsic::masked_scatter) BringAddress(*call);
    }
  }
}

}  // namespace tutti::compiler
