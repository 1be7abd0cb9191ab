#include "compiler/widen/divergence/turn_loop.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "compiler/contract/intrinsics.h"
#include "guest/fault_kind.h"

namespace tutti::compiler {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

namespace {

constexpr uint32_t kPlaceMask = 0x7fff;  // of what tutti.turn returns; the highest value is the end, which is no place

}  // namespace

LoopHeaders FindLoopHeaders(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  LoopHeaders headers;
  for (BasicBlock& block : function) {
    for (const llvm::Loop* loop = loops.getLoopFor(&block); loop != nullptr; loop = loop->getParentLoop()) {
      headers[&block].push_back(loop->getHeader());
    }
  }
  return headers;
}

BasicBlock* SplitLeave(llvm::Function& function, bool behind_a_place) {
  for (BasicBlock& block : function) {
    if (!llvm::isa<llvm::ReturnInst>(block.getTerminator())) continue;
    const bool is_alone = &block.front() == block.getTerminator();
    return is_alone && !behind_a_place ? &block : llvm::SplitBlock(&block, block.getTerminator());
  }
  BasicBlock* leave = BasicBlock::Create(function.getContext(), "leave", &function);
  llvm::IRBuilder<> builder(leave);
  llvm::Type* type = function.getReturnType();
  if (type->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(llvm::Constant::getNullValue(type));
  }
  return leave;
}

TurnLoop::TurnLoop(llvm::Function& function, LaneVariables& variables, BasicBlock* leave, llvm::AllocaInst* turn,
                   const Blocks& outside)
    : function_(function),
      variables_(variables),
      leave_(leave),
      turn_(turn),
      outside_(outside),
      builder_(function.getContext()) {}

BasicBlock* TurnLoop::NewBlock(const char* name) {
  return BasicBlock::Create(function_.getContext(), name, &function_);
}

void TurnLoop::AddHeaders(const LoopHeaders& headers, const BasicBlock* block) {
  for (BasicBlock* header : headers.lookup(block)) {
    if (header != block) places_.insert(header);
  }
}

void TurnLoop::EndAt(BasicBlock* block) {
  places_.insert(block);
  end_ = block;
}

Status TurnLoop::Complete(const LoopHeaders& headers) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<BasicBlock*> inside;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == end_) continue;
      AddHeaders(headers, places_[i]);
      inside.push_back(places_[i]);
    }
    before_ = Reach({&function_.getEntryBlock()});
    turns_ = Reach(std::move(inside));
    for (BasicBlock& block : function_) {
      if (!before_.contains(&block) || !turns_.contains(&block)) continue;
      const bool first = llvm::any_of(llvm::predecessors(&block), [&](BasicBlock* from) {
        return before_.contains(from) && !turns_.contains(from);
      });
      changed |= first && places_.insert(&block);
    }
  }
  if (places_.size() < kPlaceMask) return {};
  return Fail("too many places at which the lanes of " + function_.getName().str() + " wait for each other");
}

// Blocks that can run after one of `work` within the same turn.
TurnLoop::Blocks TurnLoop::Reach(std::vector<BasicBlock*> work) const {
  Blocks reached(work.begin(), work.end());
  while (!work.empty()) {
    BasicBlock* block = work.back();
    work.pop_back();
    for (BasicBlock* to : llvm::successors(block)) {
      if (to == leave_ || places_.contains(to) || outside_.contains(to)) continue;
      if (reached.insert(to).second) work.push_back(to);
    }
  }
  return reached;
}

bool TurnLoop::MayEndLanes() const {
  return llvm::any_of(turns_, [&](const BasicBlock* block) {
    return llvm::isa<llvm::UnreachableInst>(block->getTerminator()) ||
           llvm::is_contained(llvm::successors(block), leave_);
  });
}

uint32_t TurnLoop::NumberOf(const BasicBlock* place) const {
  return static_cast<uint32_t>(llvm::find(places_, place) - places_.begin());
}

llvm::ConstantInt* TurnLoop::End() { return builder_.getInt32(kPlaceMask); }

void TurnLoop::Build(const Wanted& wanted, const BasicBlock* waiting, bool parts) {
  place_ = variables_.New(builder_.getInt32Ty(), "place");
  wanted_ = variables_.New(builder_.getInt32Ty(), "members");
  start_ = NewBlock("start");
  next_ = NewBlock("next_turn");
  BuildTurn(waiting, parts);
  Rewire(wanted);
}

void TurnLoop::BuildTurn(const BasicBlock* waiting, bool parts) {
  llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty(), *i1 = builder_.getInt1Ty();
  auto *turns = NewBlock("turns"), *choice = NewBlock("turn");
  builder_.SetInsertPoint(start_);
  builder_.CreateBr(turns);

  builder_.SetInsertPoint(turns);
  llvm::Module& module = *function_.getParent();
  llvm::FunctionCallee take = module.getOrInsertFunction(IntrinsicName("tutti.turn").get(),
                                                         llvm::FunctionType::get(i64, {i32, i32, i64, i32, i1}, false));
  llvm::FunctionCallee lane =
      module.getOrInsertFunction(IntrinsicName("tutti.laneid").get(), llvm::FunctionType::get(i32, false));
  Value* wait = waiting != nullptr ? builder_.getInt32(NumberOf(waiting)) : End();
  Value* turn = builder_.CreateCall(take, {builder_.CreateLoad(i32, place_), builder_.CreateLoad(i32, wanted_),
                                           builder_.CreateLoad(i64, turn_), wait, builder_.getInt1(parts)});
  builder_.CreateStore(turn, turn_);
  Value* place = builder_.CreateAnd(builder_.CreateTrunc(turn, i32), kPlaceMask);
  Value* lanes = builder_.CreateTrunc(builder_.CreateLShr(turn, 32), i32);
  Value* own = builder_.CreateTrunc(builder_.CreateLShr(lanes, builder_.CreateCall(lane)), i1);
  builder_.CreateCondBr(own, choice, next_);

  builder_.SetInsertPoint(choice);
  llvm::SwitchInst* all = builder_.CreateSwitch(place, places_[0], static_cast<unsigned>(places_.size()));
  for (uint32_t i = 1; i < places_.size(); ++i) all->addCase(builder_.getInt32(i), places_[i]);

  builder_.SetInsertPoint(next_);
  if (!MayEndLanes()) {
    builder_.CreateBr(turns);
    return;
  }
  Value* ended = builder_.CreateICmpEQ(builder_.CreateLoad(i32, place_), End());
  builder_.CreateCondBr(ended, leave_, turns);
}

// Emits at the builder where the lane continues.
void TurnLoop::GoTo(BasicBlock* to, BasicBlock* way, Value* members) {
  builder_.CreateStore(places_.contains(to) ? builder_.getInt32(NumberOf(to)) : End(), place_);
  builder_.CreateStore(members != nullptr ? members : builder_.getInt32(0), wanted_);
  builder_.CreateBr(way);
}

void TurnLoop::Rewire(const Wanted& wanted) {
  std::vector<BasicBlock*> blocks(before_.begin(), before_.end());
  blocks.insert(blocks.end(), turns_.begin(), turns_.end());
  for (BasicBlock* block : blocks) {
    const bool turns = turns_.contains(block);
    Instruction* terminator = block->getTerminator();
    if (turns && llvm::isa<llvm::UnreachableInst>(terminator)) {
      EndLane(*terminator);
      continue;
    }
    for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
      BasicBlock* to = terminator->getSuccessor(i);
      if (!places_.contains(to) && !(turns && to == leave_)) continue;
      BasicBlock* edge = NewBlock("edge");
      builder_.SetInsertPoint(edge);
      GoTo(to, turns ? next_ : start_, wanted(block, to, builder_));
      terminator->setSuccessor(i, edge);
    }
  }
}

// A trap is taken at once, not after all others have left the loop.
void TurnLoop::EndLane(Instruction& terminator) {
  builder_.SetInsertPoint(&terminator);
  const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(terminator.getPrevNode());
  if (call == nullptr || !call->doesNotReturn()) {
    llvm::FunctionCallee trap = function_.getParent()->getOrInsertFunction(
        IntrinsicName("tutti.trap").get(),
        llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getInt32Ty()}, false));
    builder_.CreateCall(trap, {builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kLaunchFailed))});
  }
  GoTo(leave_, next_, nullptr);
  terminator.eraseFromParent();
}

}  // namespace tutti::compiler
