// Turns calls into jumps. What must survive a call goes to a stack in the thread's local memory.
//
//     call:     arguments = ...; stack[sp + frame] = which call this is; sp += frame; goto the function
//     return:   result = ...; switch (stack[sp]) { ... }
//     behind:   sp -= frame; goes on with `result`
//
// A frame holds the call's number and the function's variables: its allocas, and the values that are live across a
// call. All other values stay SSA values, since their definitions still dominate their uses. The kernel is entered
// once, so its values need no frame; those live across a call become stack slots, and phis again where possible.
//
// So lanes deep in a recursion and lanes that have left it are at different places of one function, which is all that
// the rest of widening needs to know.
#include "compiler/widen/divergence/call_merger.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

#include "compiler/contract/intrinsics.h"
#include "compiler/passes/live_values.h"
#include "guest/fault_kind.h"

namespace tutti::compiler {
namespace {

using llvm::AllocaInst;
using llvm::BasicBlock;
using llvm::Function;
using llvm::Instruction;
using llvm::Value;

constexpr uint64_t kStackBytes = 16 << 10;  // of each lane, as for other recursion (widen.cc)
constexpr uint64_t kFrameAlignment = 16;

class CallMerger {
 public:
  CallMerger(Function& kernel, llvm::ArrayRef<Function*> functions) : kernel_(kernel), builder_(kernel.getContext()) {
    for (Function* function : functions) bodies_[function];
  }

  void Run() {
    std::vector<Function*> owners{&kernel_};
    for (auto& [function, body] : bodies_) owners.push_back(function);
    for (Function* owner : owners) FindSites(*owner);
    for (auto& [function, body] : bodies_) TakeArguments(*function, body);
    for (Function* owner : owners) KeepAcrossCalls(*owner);
    stack_ = NewSlot(llvm::ArrayType::get(builder_.getInt8Ty(), kStackBytes), "frames");
    stack_->setAlignment(llvm::Align(kFrameAlignment));
    pointer_ = NewVariable(builder_.getInt64Ty(), "frame");
    for (auto& [function, body] : bodies_) Move(*function, body);
    for (Site& site : sites_) Call(site);
    for (auto& [function, body] : bodies_) Return(body);
    for (auto& [function, body] : bodies_) function->eraseFromParent();
  }

 private:
  struct Site {
    llvm::CallInst* call;
    Function *owner, *target;
    BasicBlock *before, *after;
  };
  struct Body {
    BasicBlock* entry = nullptr;
    std::vector<AllocaInst*> arguments;
    AllocaInst* result = nullptr;
    uint64_t frame_bytes = sizeof(uint64_t);  // the number of the call is first
    std::vector<llvm::ReturnInst*> returns;
    std::vector<BasicBlock*> behind;  // the calls of it, by number
  };

  AllocaInst* NewSlot(llvm::Type* type, const char* name) {
    return new AllocaInst(type, 0, name, kernel_.getEntryBlock().begin());
  }
  // Initialised, since not every path to a use has to be one that is taken.
  AllocaInst* NewVariable(llvm::Type* type, const char* name) {
    AllocaInst* slot = NewSlot(type, name);
    Clear(slot);
    return slot;
  }
  static void Clear(AllocaInst* slot) {
    new llvm::StoreInst(llvm::Constant::getNullValue(slot->getAllocatedType()), slot, std::next(slot->getIterator()));
  }

  void FindSites(Function& owner) {
    std::vector<llvm::CallInst*> calls;
    for (Instruction& instruction : llvm::instructions(owner)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && bodies_.contains(call->getCalledFunction())) calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      BasicBlock* after = llvm::SplitBlock(call->getParent(), std::next(call->getIterator()));
      Body& target = bodies_.find(call->getCalledFunction())->second;
      if (!call->use_empty()) {
        if (target.result == nullptr) target.result = NewVariable(call->getType(), "result");
        builder_.SetInsertPoint(after, after->begin());
        call->replaceAllUsesWith(builder_.CreateLoad(call->getType(), target.result));
      }
      sites_.push_back({call, &owner, call->getCalledFunction(), call->getParent(), after});
    }
  }

  void TakeArguments(Function& function, Body& body) {
    for (llvm::Argument& argument : function.args()) {
      body.arguments.push_back(NewVariable(argument.getType(), "argument"));
      builder_.SetInsertPoint(&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt());
      argument.replaceAllUsesWith(builder_.CreateLoad(argument.getType(), body.arguments.back()));
    }
  }

  // Structs are not kept in memory: their members are extracted where they are made.
  static void TakeApart(Function& owner) {
    for (Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(owner))) {
      auto* member = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
      auto* whole = member == nullptr ? nullptr : llvm::dyn_cast<Instruction>(member->getAggregateOperand());
      if (whole != nullptr && !llvm::isa<llvm::PHINode>(whole)) member->moveAfter(whole);
    }
  }

  // Values that are live across a call become variables.
  void KeepAcrossCalls(Function& owner) {
    TakeApart(owner);
    std::vector<BasicBlock*> behind;
    for (const Site& site : sites_) {
      if (site.owner == &owner) behind.push_back(site.after);
    }
    for (bool changed = !behind.empty(); changed;) {
      changed = false;
      llvm::SetVector<Instruction*> kept;
      for (const auto& [block, live] : LiveInto(owner, behind)) kept.insert(live.begin(), live.end());
      for (Instruction* value : kept) {
        auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
        AllocaInst* slot = phi != nullptr ? llvm::DemotePHIToStack(phi) : llvm::DemoteRegToStack(*value);
        if (slot != nullptr && &owner == &kernel_) Clear(slot);
        changed = true;
      }
    }
  }

  // The body, with its variables in the frame.
  void Move(Function& function, Body& body) {
    body.entry = &function.getEntryBlock();
    std::vector<AllocaInst*> variables;
    for (Instruction& instruction : llvm::instructions(function)) {
      if (auto* variable = llvm::dyn_cast<AllocaInst>(&instruction)) variables.push_back(variable);
      if (auto* leaves = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) body.returns.push_back(leaves);
    }
    const llvm::DataLayout& layout = kernel_.getDataLayout();
    for (AllocaInst* variable : variables) {
      const uint64_t offset = llvm::alignTo(body.frame_bytes, variable->getAlign());
      body.frame_bytes = offset + variable->getAllocationSize(layout)->getFixedValue();
      PutIntoFrame(*variable, offset);
    }
    body.frame_bytes = llvm::alignTo(body.frame_bytes, kFrameAlignment);
    kernel_.splice(kernel_.end(), &function);
  }

  void PutIntoFrame(AllocaInst& variable, uint64_t offset) {
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : variable.uses()) uses.push_back(&use);
    for (llvm::Use* use : uses) {
      auto* user = llvm::cast<Instruction>(use->getUser());
      if (user->isLifetimeStartOrEnd()) {
        user->eraseFromParent();
        continue;
      }
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      builder_.SetInsertPoint(phi != nullptr ? phi->getIncomingBlock(*use)->getTerminator() : user);
      use->set(InFrame(builder_.CreateLoad(builder_.getInt64Ty(), pointer_), offset));
      if (variable.getAllocatedType()->isIntegerTy(1)) AsByte(*user);
    }
    variable.eraseFromParent();
  }

  // Memory has no predicates.
  void AsByte(Instruction& access) {
    builder_.SetInsertPoint(&access);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&access)) {
      Value* byte = builder_.CreateLoad(builder_.getInt8Ty(), load->getPointerOperand());
      load->replaceAllUsesWith(builder_.CreateTrunc(byte, builder_.getInt1Ty()));
    } else {
      auto& store = llvm::cast<llvm::StoreInst>(access);
      builder_.CreateStore(builder_.CreateZExt(store.getValueOperand(), builder_.getInt8Ty()),
                           store.getPointerOperand());
    }
    access.eraseFromParent();
  }

  Value* InFrame(Value* frame, uint64_t offset) {
    return builder_.CreateGEP(builder_.getInt8Ty(), stack_, builder_.CreateAdd(frame, builder_.getInt64(offset)));
  }

  uint64_t FrameBytes(const Function& owner) const {
    const auto found = bodies_.find(const_cast<Function*>(&owner));
    return found == bodies_.end() ? 0 : found->second.frame_bytes;
  }

  void Call(Site& site) {
    Body& target = bodies_.find(site.target)->second;
    Instruction* old = site.before->getTerminator();
    builder_.SetInsertPoint(old);
    for (unsigned i = 0; i < target.arguments.size(); ++i)
      builder_.CreateStore(site.call->getArgOperand(i), target.arguments[i]);
    Value* frame = builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), pointer_),
                                      builder_.getInt64(FrameBytes(*site.owner)));
    auto* enter = BasicBlock::Create(kernel_.getContext(), "call", &kernel_);
    auto* overflow = BasicBlock::Create(kernel_.getContext(), "overflow", &kernel_);
    builder_.CreateCondBr(builder_.CreateICmpULE(frame, builder_.getInt64(kStackBytes - target.frame_bytes)), enter,
                          overflow);

    builder_.SetInsertPoint(overflow);
    llvm::FunctionCallee trap = kernel_.getParent()->getOrInsertFunction(
        IntrinsicName("tutti.trap").get(),
        llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getInt32Ty()}, false));
    llvm::CallInst* ends =
        builder_.CreateCall(trap, {builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kHardwareStackError))});
    ends->setMetadata("tutti.loc", site.call->getMetadata("tutti.loc"));
    ends->setDoesNotReturn();
    builder_.CreateUnreachable();

    builder_.SetInsertPoint(enter);
    builder_.CreateStore(builder_.getInt32(static_cast<uint32_t>(target.behind.size())), InFrame(frame, 0));
    builder_.CreateStore(frame, pointer_);
    builder_.CreateBr(target.entry);
    target.behind.push_back(site.after);
    old->eraseFromParent();
    site.call->eraseFromParent();

    builder_.SetInsertPoint(site.after, site.after->begin());
    Value* inner = builder_.CreateLoad(builder_.getInt64Ty(), pointer_);
    builder_.CreateStore(builder_.CreateSub(inner, builder_.getInt64(FrameBytes(*site.owner))), pointer_);
  }

  void Return(Body& body) {
    auto* leave = BasicBlock::Create(kernel_.getContext(), "return", &kernel_);
    for (llvm::ReturnInst* old : body.returns) {
      builder_.SetInsertPoint(old);
      if (body.result != nullptr) builder_.CreateStore(old->getReturnValue(), body.result);
      builder_.CreateBr(leave);
      old->eraseFromParent();
    }
    builder_.SetInsertPoint(leave);
    Value* number =
        builder_.CreateLoad(builder_.getInt32Ty(), InFrame(builder_.CreateLoad(builder_.getInt64Ty(), pointer_), 0));
    llvm::SwitchInst* which =
        builder_.CreateSwitch(number, body.behind.front(), static_cast<unsigned>(body.behind.size()));
    for (uint32_t i = 1; i < body.behind.size(); ++i) which->addCase(builder_.getInt32(i), body.behind[i]);
  }

  Function& kernel_;
  llvm::IRBuilder<> builder_;
  llvm::MapVector<Function*, Body> bodies_;
  std::vector<Site> sites_;
  AllocaInst *stack_ = nullptr, *pointer_ = nullptr;
};

}  // namespace

void MergeCalls(Function& kernel, llvm::ArrayRef<Function*> functions) { CallMerger(kernel, functions).Run(); }

}  // namespace tutti::compiler
