#include "compiler/widen/analysis/meetings.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "guest/fault_kind.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::CallInst;
using llvm::Value;

constexpr uint32_t kStuckBit = 15;  // of what tutti.turn returns (runtime/turn.cc)

bool OnlyArrives(const CallInst& call, Intrinsic kind) {
  const auto* waits = kind == Intrinsic::kBarrier ? llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(2)) : nullptr;
  return waits != nullptr && waits->isZero();
}

}  // namespace

Meetings::Meetings(llvm::Function& function, LaneVariables& variables, llvm::AllocaInst* turn, bool barriers_apart)
    : function_(function),
      variables_(variables),
      turn_(turn),
      barriers_apart_(barriers_apart),
      builder_(function.getContext()) {
  site_ = variables.New(builder_.getInt32Ty(), "site");
  if (barriers_apart) {
    barrier_ = variables.New(builder_.getInt32Ty(), "barrier");
    phase_ = variables.New(builder_.getInt32Ty(), "phase");
  }
  FindSites();
}

llvm::FunctionCallee Meetings::Declare(IntrinsicName name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters) {
  return function_.getParent()->getOrInsertFunction(name.get(), llvm::FunctionType::get(result, parameters, false));
}

BasicBlock* Meetings::NewBlock(const llvm::Twine& name) {
  return BasicBlock::Create(function_.getContext(), name, &function_);
}

bool Meetings::IsApart(Intrinsic kind) const {
  return barriers_apart_ && (kind == Intrinsic::kBarrier || kind == Intrinsic::kBarrierReduce);
}

void Meetings::FindSites() {
  std::vector<BasicBlock*> blocks;
  for (BasicBlock& block : function_) blocks.push_back(&block);
  for (BasicBlock* block : blocks) {
    std::vector<CallInst*> calls;
    for (llvm::Instruction& instruction : *block) {
      if (auto* call = llvm::dyn_cast<CallInst>(&instruction)) calls.push_back(call);
    }
    bool are_all_here = false;  // since the last site
    for (CallInst* call : calls) {
      const Intrinsic kind = ClassifyCall(*call).kind;
      const bool of_members = IsMeetingOfMembers(kind) && !AreMembersHere(*call);
      if (!of_members && (!IsMeetingOfAll(kind) || OnlyArrives(*call, kind))) continue;
      const bool is_aligned = IsAligned(*call);
      if (!is_aligned || !are_all_here) Split(*call, kind);
      are_all_here = is_aligned;
    }
  }
}

void Meetings::Split(CallInst& call, Intrinsic kind) {
  const bool of_members = IsMeetingOfMembers(kind) && !IsAligned(call);
  Site site{.call = &call,
            .kind = kind,
            .of_members = of_members,
            .before = call.getParent(),
            .here = nullptr,
            .park = nullptr,
            .after = nullptr,
            .result = nullptr};
  site.here = llvm::SplitBlock(site.before, &call);
  site.after = llvm::SplitBlock(site.here, call.getNextNode());
  site.park = NewBlock("park");
  site.before->getTerminator()->eraseFromParent();
  builder_.SetInsertPoint(site.before);
  Value* members = of_members ? call.getArgOperand(0) : builder_.getInt32(~0u);
  Value* absent =
      builder_.CreateCall(Declare("tutti.absent", builder_.getInt1Ty(), {builder_.getInt32Ty()}), {members});
  builder_.CreateCondBr(absent, site.park, site.here,
                        llvm::MDBuilder(builder_.getContext()).createUnlikelyBranchWeights());
  if (!call.use_empty()) {
    site.result = variables_.New(call.getType(), "result");
    builder_.SetInsertPoint(site.after, site.after->begin());
    call.replaceAllUsesWith(builder_.CreateLoad(call.getType(), site.result));
    builder_.SetInsertPoint(site.here->getTerminator());
    builder_.CreateStore(&call, site.result);
  }
  FillPark(site);
  sites_.push_back(site);
}

void Meetings::SplitQuestions() {
  for (Site& site : sites_) {
    auto* absent = llvm::cast<llvm::BranchInst>(site.before->getTerminator())->getCondition();
    site.before = llvm::SplitBlock(site.before, llvm::cast<llvm::Instruction>(absent));
  }
}

void Meetings::FillPark(const Site& site) {
  builder_.SetInsertPoint(site.park);
  builder_.CreateStore(builder_.getInt32(static_cast<uint32_t>(sites_.size())), site_);
  llvm::Type *i32 = builder_.getInt32Ty(), *i1 = builder_.getInt1Ty();
  if (site.of_members) {
    Kind& kind = kinds_[site.call->getCalledFunction()];
    if (kind.sites.empty()) {
      for (const llvm::Use& argument : site.call->args())
        kind.arguments.push_back(variables_.New(argument->getType(), "argument"));
    }
    kind.sites.push_back(sites_.size());
    for (size_t i = 0; i < kind.arguments.size(); ++i) {
      builder_.CreateStore(site.call->getArgOperand(static_cast<unsigned>(i)), kind.arguments[i]);
    }
  } else if (IsApart(site.kind)) {
    Value* id = site.call->getArgOperand(0);
    Value* vote = site.kind == Intrinsic::kBarrierReduce ? site.call->getArgOperand(2) : builder_.getFalse();
    CallInst* phase = builder_.CreateCall(Declare("tutti.barrier_enter", i32, {i32, i32, i1}),
                                          {id, site.call->getArgOperand(1), vote});
    phase->setMetadata("tutti.loc", site.call->getMetadata("tutti.loc"));
    builder_.CreateStore(id, barrier_);
    builder_.CreateStore(phase, phase_);
  }
  builder_.CreateBr(site.here);  // until it is linked
}

void Meetings::MoveTo(const llvm::ValueToValueMapTy& copies) {
  const auto copy = [&](BasicBlock* block) {
    auto* found = llvm::cast_or_null<BasicBlock>(copies.lookup(block));
    return found != nullptr ? found : block;
  };
  const auto own = [&](llvm::AllocaInst*& variable) {
    if (variable != nullptr) variable = llvm::cast<llvm::AllocaInst>(copies.lookup(variable));
  };
  own(site_);
  own(barrier_);
  own(phase_);
  for (auto& [operation, kind] : kinds_) {
    for (llvm::AllocaInst*& argument : kind.arguments) own(argument);
  }
  for (Site& site : sites_) {
    own(site.result);
    site.call = llvm::cast<CallInst>(copies.lookup(site.call));
    site.before = copy(site.before);
    site.here = copy(site.here);
    site.park = copy(site.park);
    site.after = copy(site.after);
  }
}

Value* Meetings::IsStuck() {
  Value* turn = builder_.CreateLoad(turn_->getAllocatedType(), turn_);
  return builder_.CreateTrunc(builder_.CreateLShr(turn, kStuckBit), builder_.getInt1Ty());
}

void Meetings::SwitchOverSites(llvm::ArrayRef<size_t> sites, llvm::ArrayRef<BasicBlock*> targets) {
  Value* own = builder_.CreateLoad(builder_.getInt32Ty(), site_);
  llvm::SwitchInst* choice = builder_.CreateSwitch(own, targets[0], static_cast<unsigned>(sites.size()));
  for (size_t i = 1; i < sites.size(); ++i)
    choice->addCase(builder_.getInt32(static_cast<uint32_t>(sites[i])), targets[i]);
}

void Meetings::Link() {
  for (const auto& [operation, kind] : kinds_) LinkKind(operation, kind);
  if (barriers_apart_) LinkWaits();
  for (const Site& site : sites_) {
    if (!site.of_members && !IsApart(site.kind)) LinkAlone(site);
  }
}

void Meetings::LinkKind(llvm::Function* operation, const Kind& kind) {
  BasicBlock* place = NewBlock("meeting");
  BasicBlock *met = NewBlock("met"), *missed = NewBlock("missed");
  places_.push_back(place);
  builder_.SetInsertPoint(place);
  builder_.CreateCondBr(IsStuck(), missed, met, llvm::MDBuilder(builder_.getContext()).createUnlikelyBranchWeights());

  builder_.SetInsertPoint(met);
  std::vector<Value*> arguments;
  for (llvm::AllocaInst* argument : kind.arguments)
    arguments.push_back(builder_.CreateLoad(argument->getAllocatedType(), argument));
  CallInst* call = builder_.CreateCall(operation, arguments);
  call->copyMetadata(*sites_[kind.sites[0]].call);
  std::vector<BasicBlock*> back, again;
  for (const size_t i : kind.sites) {
    back.push_back(NewBlock("back"));
    again.push_back(sites_[i].here);
  }
  SwitchOverSites(kind.sites, back);
  builder_.SetInsertPoint(missed);
  SwitchOverSites(kind.sites, again);

  llvm::AllocaInst* result = call->getType()->isVoidTy() ? nullptr : variables_.New(call->getType(), "met");
  if (result != nullptr) new llvm::StoreInst(call, result, std::next(call->getIterator()));
  for (size_t i = 0; i < back.size(); ++i) {
    const Site& site = sites_[kind.sites[i]];
    builder_.SetInsertPoint(back[i]);
    if (site.result != nullptr) builder_.CreateStore(builder_.CreateLoad(call->getType(), result), site.result);
    builder_.CreateBr(site.after);
    llvm::cast<llvm::BranchInst>(site.park->getTerminator())->setSuccessor(0, place);
    wanted_[site.park] = kind.arguments[0];
  }
}

void Meetings::LinkWaits() {
  std::vector<size_t> sites;
  for (size_t i = 0; i < sites_.size(); ++i) {
    if (IsApart(sites_[i].kind)) sites.push_back(i);
  }
  if (sites.empty()) return;
  llvm::Type *i32 = builder_.getInt32Ty(), *i1 = builder_.getInt1Ty();
  wait_ = NewBlock("waiting");
  places_.push_back(wait_);
  BasicBlock *passed = NewBlock("passed"), *again = NewBlock("wait_on");
  builder_.SetInsertPoint(wait_);
  Value* is_through =
      builder_.CreateCall(Declare("tutti.barrier_pass", i1, {i32, i32, i1}),
                          {builder_.CreateLoad(i32, barrier_), builder_.CreateLoad(i32, phase_), IsStuck()});
  builder_.CreateCondBr(is_through, passed, again);
  builder_.SetInsertPoint(again);
  builder_.CreateBr(wait_);

  builder_.SetInsertPoint(passed);
  std::vector<BasicBlock*> back;
  for ([[maybe_unused]] const size_t i : sites) back.push_back(NewBlock("back"));
  SwitchOverSites(sites, back);
  for (size_t i = 0; i < back.size(); ++i) {
    const Site& site = sites_[sites[i]];
    builder_.SetInsertPoint(back[i]);
    if (site.result != nullptr) {
      const IntrinsicFamily outcomes = "tutti.barrier_outcome.";
      const auto outcome = function_.getParent()->getOrInsertFunction(outcomes.Member(ClassifyCall(*site.call).suffix),
                                                                      llvm::FunctionType::get(i32, {i32}, false));
      builder_.CreateStore(builder_.CreateCall(outcome, {builder_.CreateLoad(i32, barrier_)}), site.result);
    }
    builder_.CreateBr(site.after);
    llvm::cast<llvm::BranchInst>(site.park->getTerminator())->setSuccessor(0, wait_);
  }
}

void Meetings::LinkAlone(const Site& site) {
  BasicBlock* place = NewBlock("gathering");
  places_.push_back(place);
  builder_.SetInsertPoint(place);
  if (site.kind == Intrinsic::kBarrier) {
    // All lanes reconverge here, or the warp cannot continue.
    site.call->setMetadata("tutti.whole_warp", llvm::MDNode::get(builder_.getContext(), {}));
    BasicBlock* trap = NewBlock("missed");
    builder_.CreateCondBr(IsStuck(), trap, site.here);
    builder_.SetInsertPoint(trap);
    builder_
        .CreateCall(Declare("tutti.trap", builder_.getVoidTy(), {builder_.getInt32Ty()}),
                    {builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kLaunchFailed))})
        ->copyMetadata(*site.call);
  }
  builder_.CreateBr(site.here);
  llvm::cast<llvm::BranchInst>(site.park->getTerminator())->setSuccessor(0, place);
  wanted_[site.park] = builder_.getInt32(~0u);
}

Value* Meetings::Wanted(const BasicBlock* from, llvm::IRBuilder<>& builder) const {
  Value* wanted = wanted_.lookup(from);
  if (wanted == nullptr) return builder.getInt32(0);
  auto* variable = llvm::dyn_cast<llvm::AllocaInst>(wanted);
  return variable != nullptr ? builder.CreateLoad(builder.getInt32Ty(), variable) : wanted;
}

}  // namespace tutti::compiler
