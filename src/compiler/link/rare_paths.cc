#include "compiler/link/rare_paths.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

namespace tutti::compiler {
namespace {

// Of runs that the branch weights are seen against; any number does.
constexpr uint64_t kEntryCount = 1000;

// The rare functions of the guest runtime (runtime/fence.cc).
constexpr const char* kRareFunctions[] = {"tutti_check", "tutti_check_lanes"};

void CallKeepingVectors(llvm::Function& function) {
  for (const llvm::User* user : function.users()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || call->getCalledFunction() != &function) return;  // called in a way that is not seen here
  }
  function.setCallingConv(llvm::CallingConv::Intel_OCL_BI);
  for (llvm::User* user : function.users()) llvm::cast<llvm::CallBase>(user)->setCallingConv(function.getCallingConv());
}

}  // namespace

void KeepRarePathsApart(llvm::Module& module) {
  for (const char* name : kRareFunctions) {
    llvm::Function* function = module.getFunction(name);
    if (function != nullptr && function->hasLocalLinkage()) CallKeepingVectors(*function);
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.setEntryCount(kEntryCount);
  }
}

}  // namespace tutti::compiler
