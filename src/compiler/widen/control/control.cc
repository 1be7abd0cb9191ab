// The control flow half of FunctionEmitter: phis, edges, and the dispatch to the next block.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/widen/control/calls.h"
#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/warp/services.h"
#include "guest/cpu/kernel_abi.h"
#include "guest/fault_kind.h"

namespace tutti::compiler {

// Blocks that lanes come to from more others keep what lanes bring in memory. As SSA values each of these others would
// have a new one, which is live until the next has the next: one register through the whole function for LLVM, which it
// searches and updates anew for each of them. The fenced onesweep sort of CUB has 850 blocks, of which 800 are left by
// lanes that end.
constexpr unsigned kManyWays = 64;

// Test chains up to this length are emitted anew for each block, so that they fold with what is known there.
constexpr size_t kShortChain = 3;

bool FunctionEmitter::IsMetByMany(unsigned block) const {
  return schedule_.block(block)->hasNPredecessorsOrMore(kManyWays);
}

llvm::SmallVector<llvm::AllocaInst*, 2>& FunctionEmitter::PhiSlots(const llvm::PHINode& phi) {
  auto& slots = phi_slots_[&phi];
  if (!slots.empty()) return slots;
  const Shape& shape = this->shape(&phi);
  if (shape.is_varying()) {
    for (unsigned i = 0; i < Values::ComponentCount(phi.getType()); ++i) {
      slots.push_back(values_.Slot(Values::Wide(Values::Component(phi.getType(), i)), "phi"));
    }
  } else {
    for (unsigned r = 0; r < shape.run_count(); ++r)
      slots.push_back(values_.Slot(Values::Scalar(phi.getType()), "phi"));
  }
  return slots;
}

void FunctionEmitter::EmitPhis(const llvm::BasicBlock& block) {
  const bool in_memory = IsMetByMany(block_);
  llvm::SmallVector<std::pair<const llvm::PHINode*, llvm::SmallVector<llvm::Value*, 2>>, 8> loaded;
  for (const llvm::PHINode& phi : block.phis()) {
    llvm::SmallVector<llvm::Value*, 2> parts;
    if (shape(&phi).is_constant_lanes()) {
      parts.push_back(llvm::Constant::getNullValue(Values::Scalar(phi.getType())));
    } else {
      for (llvm::AllocaInst* slot : PhiSlots(phi))
        parts.push_back(builder_.CreateLoad(slot->getAllocatedType(), slot, in_memory));
    }
    loaded.emplace_back(&phi, std::move(parts));
  }
  for (const auto& [phi, parts] : loaded) Define(*phi, parts);
}

void FunctionEmitter::EmitEdge(unsigned from, unsigned to, llvm::Value* lanes) {
  const bool waiting = schedule_.waiting(from).test(to), in_memory = IsMetByMany(to);
  llvm::BasicBlock* scalar_from = schedule_.block(from);
  for (const llvm::PHINode& phi : schedule_.block(to)->phis()) {
    const Shape& shape = this->shape(&phi);
    if (shape.is_constant_lanes()) continue;
    const llvm::Value* incoming = phi.getIncomingValueForBlock(scalar_from);
    auto& slots = PhiSlots(phi);
    for (unsigned i = 0; i < slots.size(); ++i) {
      llvm::Value* value;
      if (shape.is_varying()) {
        value = values_.Vector(incoming, i);
        if (waiting)
          value = builder_.CreateSelect(lanes, value, builder_.CreateLoad(value->getType(), slots[i], in_memory));
      } else {
        // The phi's offsets are its first operand's; the rest of a difference is in the base.
        const unsigned lane = i * shape.run();
        value = values_.Base(incoming, shape.run(), i);
        const int64_t difference = Difference(this->shape(incoming).offset(lane), shape.offset(lane));
        if (difference != 0)
          value = builder_.CreateAdd(value, llvm::ConstantInt::getSigned(value->getType(), difference));
      }
      builder_.CreateStore(value, slots[i], in_memory);
    }
  }
  if (tells_exits_ && llvm::isa<llvm::ReturnInst>(schedule_.block(to)->getTerminator()) && pending_[to] != nullptr) {
    module_.flags |= guest::kEndsLanes;
    llvm::Value* address = abi_.LanesAddress(builder_);
    llvm::Value* rest =
        builder_.CreateAnd(builder_.CreateLoad(builder_.getInt32Ty(), address), builder_.CreateNot(Bits(lanes)));
    builder_.CreateStore(rest, address);
  }
  if (pending_[to] == nullptr) return;
  if (!KeepsPendingInMemory(to)) {
    SetPending(to, waiting ? builder_.CreateOr(lanes, Pending(to)) : lanes);
  } else {
    llvm::Value* bits = Bits(lanes);
    SetPendingBits(to, waiting ? builder_.CreateOr(bits, PendingBits(to)) : bits);
  }
}

// As SSA values, the masks of a copy's blocks would all be phis of its loop of turns.
void FunctionEmitter::ReservePending(unsigned block) {
  if (!schedule_.is_of_copy(block)) {
    pending_[block] = values_.Slot(IsMetByMany(block) ? builder_.getInt32Ty() : entry_mask_->getType(), "pending");
    return;
  }
  if (pending_of_copy_ == nullptr) {
    pending_of_copy_ = values_.Slot(llvm::ArrayType::get(builder_.getInt32Ty(), schedule_.size()), "pending");
  }
  pending_[block] =
      builder_.CreateConstInBoundsGEP2_32(pending_of_copy_->getAllocatedType(), pending_of_copy_, 0, block);
}

llvm::Value* FunctionEmitter::PendingBits(unsigned block) {
  if (!KeepsPendingInMemory(block)) return Bits(builder_.CreateLoad(entry_mask_->getType(), pending_[block]));
  return builder_.CreateAlignedLoad(builder_.getInt32Ty(), pending_[block], llvm::Align(4), /*isVolatile=*/true);
}

llvm::Value* FunctionEmitter::Pending(unsigned block) {
  if (!KeepsPendingInMemory(block)) return builder_.CreateLoad(entry_mask_->getType(), pending_[block], "mask");
  return LanesOfWord(PendingBits(block));
}

void FunctionEmitter::SetPending(unsigned block, llvm::Value* lanes) {
  if (KeepsPendingInMemory(block)) return SetPendingBits(block, Bits(lanes));
  builder_.CreateStore(lanes, pending_[block]);
}

void FunctionEmitter::SetPendingBits(unsigned block, llvm::Value* bits) {
  builder_.CreateAlignedStore(bits, pending_[block], llvm::Align(4), /*isVolatile=*/true);
}

void FunctionEmitter::JumpTo(llvm::ArrayRef<unsigned> candidates) {
  while (candidates.size() > 1) {
    if (candidates.size() > kShortChain) {
      llvm::BasicBlock*& chain = chains_[std::vector<unsigned>(candidates.begin(), candidates.end())];
      const bool known = chain != nullptr;
      if (!known) chain = llvm::BasicBlock::Create(wide_.getContext(), "next", &wide_);
      builder_.CreateBr(chain);
      if (known) return;
      builder_.SetInsertPoint(chain);
    }
    const unsigned first = candidates.front();
    llvm::Value* pending = PendingBits(first);
    auto* next = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
    llvm::Instruction* left =
        builder_.CreateCondBr(builder_.CreateICmpNE(pending, builder_.getInt32(0)), entries_[first], next);
    left->setMetadata("tutti.left", llvm::MDNode::get(wide_.getContext(), {}));
    builder_.SetInsertPoint(next);
    candidates = candidates.drop_front();
  }
  builder_.CreateBr(entries_[candidates.front()]);
}

void FunctionEmitter::EmitNext(unsigned from, llvm::ArrayRef<unsigned> targets) {
  JumpTo(schedule_.Next(from, targets));
}

void FunctionEmitter::EmitTerminator(const llvm::Instruction& terminator) {
  if (const auto* instruction = llvm::dyn_cast<llvm::ReturnInst>(&terminator)) return EmitReturn(*instruction);
  if (llvm::isa<llvm::UnreachableInst>(terminator)) {
    // Unreachable to LLVM, but it must not fall through into whatever code comes next.
    EmitTrap(*this, terminator, builder_.getInt32(static_cast<uint32_t>(guest::FaultKind::kLaunchFailed)));
    builder_.CreateUnreachable();
    return;
  }
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator);
  if (branch == nullptr) return Unsupported(terminator, "the kind of branch is not known");

  const auto targets = Targets(schedule_, *terminator.getParent());
  if (targets.size() == 1) {
    EmitEdge(block_, targets[0], mask_);
    return EmitNext(block_, targets);
  }
  if (!shapes_.IsDivergent(*terminator.getParent())) {
    llvm::Value* condition = values_.Uniform(branch->getCondition());
    llvm::BasicBlock* ways[2];
    for (llvm::BasicBlock*& way : ways) way = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
    builder_.CreateCondBr(condition, ways[0], ways[1], branch->getMetadata(llvm::LLVMContext::MD_prof));
    for (unsigned i = 0; i < 2; ++i) {
      builder_.SetInsertPoint(ways[i]);
      Values::ColdScope scope(values_);
      EmitEdge(block_, targets[i], mask_);
      EmitNext(block_, {targets[i]});
    }
    return;
  }
  llvm::Value* taken = Masked(values_.Vector(branch->getCondition()));
  llvm::Value* not_taken = builder_.CreateXor(mask_, taken);
  EmitEdge(block_, targets[0], taken);
  EmitEdge(block_, targets[1], not_taken);
  EmitNext(block_, targets);
}

void FunctionEmitter::EmitReturn(const llvm::ReturnInst& instruction) {
  if (is_kernel()) {
    builder_.CreateRetVoid();
    return;
  }
  EmitFunctionReturn(*this, instruction);
}

}  // namespace tutti::compiler
