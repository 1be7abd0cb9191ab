#include "compiler/link/rare_paths.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <vector>

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

bool IsOnlyCalled(const llvm::Function& function) {
  return llvm::all_of(function.users(), [&](const llvm::User* user) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    return call != nullptr && call->getCalledFunction() == &function;
  });
}

// Of the registers of vectors that the function's processor has; 0 if its code does not use the whole of them.
unsigned VectorBits(const llvm::Function& function) {
  const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
  const unsigned bits = features.contains("+avx512") ? 512 : features.contains("+avx") ? 256 : 128;
  unsigned used = bits;
  function.getFnAttribute("min-legal-vector-width").getValueAsString().getAsInteger(10, used);
  return used == bits ? bits : 0;
}

// LLVM counts a register as preserved of which an argument or a result has only a part, and one in which a function
// returns where its result is in memory: then the two sides of a call would disagree.
bool FillsRegisters(const llvm::Function& function) {
  constexpr unsigned kMostReturned = 4;  // registers of vectors
  const unsigned bits = VectorBits(function);
  const auto fills = [bits](const llvm::Type* type) {
    if (!type->isVectorTy()) return type->isPointerTy() || type->isIntegerTy(32) || type->isIntegerTy(64);
    return bits != 0 && type->getPrimitiveSizeInBits().getFixedValue() % bits == 0;
  };
  const llvm::Type* result = function.getReturnType();
  const bool returns = !result->isVoidTy();
  if (returns && (!result->isVectorTy() || !fills(result) ||
                  result->getPrimitiveSizeInBits().getFixedValue() > uint64_t{kMostReturned} * bits))
    return false;
  return llvm::all_of(function.args(), [&](const llvm::Argument& argument) { return fills(argument.getType()); });
}

// With numbers of 32 bits passed as ones of 64, which fill a register.
llvm::Function& PassWholeNumbers(llvm::Function& function) {
  llvm::Type* const whole = llvm::Type::getInt64Ty(function.getContext());
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const llvm::Argument& argument : function.args())
    types.push_back(argument.getType()->isIntegerTy() ? whole : argument.getType());
  auto* made = llvm::Function::Create(llvm::FunctionType::get(function.getReturnType(), types, false),
                                      function.getLinkage(), "", function.getParent());
  made->copyAttributesFrom(&function);
  made->takeName(&function);
  made->splice(made->begin(), &function);
  llvm::IRBuilder<> entry(&*made->getEntryBlock().getFirstInsertionPt());
  for (llvm::Argument& argument : function.args()) {
    llvm::Argument* now = made->getArg(argument.getArgNo());
    argument.replaceAllUsesWith(argument.getType()->isIntegerTy() ? entry.CreateTrunc(now, argument.getType()) : now);
  }
  for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    llvm::IRBuilder<> builder(call);
    llvm::SmallVector<llvm::Value*, 8> arguments;
    for (llvm::Value* argument : call->args())
      arguments.push_back(argument->getType()->isIntegerTy() ? builder.CreateZExt(argument, whole) : argument);
    llvm::CallInst* again = builder.CreateCall(made, arguments);
    again->takeName(call);
    call->replaceAllUsesWith(again);
    call->eraseFromParent();
  }
  function.eraseFromParent();
  return *made;
}

void KeepRegisters(llvm::Function& rare) {
  if (!IsOnlyCalled(rare)) return;
  const bool all = FillsRegisters(rare);
  llvm::Function& function = all ? PassWholeNumbers(rare) : rare;
  if (all) {
    function.addFnAttr("no_caller_saved_registers");
    // LLVM would restore the registers, and then jump to a function that does not preserve them.
    function.addFnAttr("disable-tail-calls", "true");
  } else {
    function.setCallingConv(llvm::CallingConv::Intel_OCL_BI);
    for (llvm::User* user : function.users())
      llvm::cast<llvm::CallBase>(user)->setCallingConv(function.getCallingConv());
    // With AVX-512 this convention does not preserve the frame pointer, which callers with aligned or variable frames
    // rely on all the same: a function with a frame of its own restores theirs.
    function.addFnAttr("frame-pointer", "all");
  }
  // LLVM clears the upper halves of ymm0 to ymm15 before any function returns that does not return vectors, also of
  // those that have just been restored.
  const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
  function.addFnAttr("target-features", features.empty() ? "-vzeroupper" : (features + ",-vzeroupper").str());
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
  std::vector<llvm::Function*> rare;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && IsRare(function)) rare.push_back(&function);
  }
  for (llvm::Function* function : rare) KeepRegisters(*function);
  for (llvm::Function& function : module) {
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
