#include "compiler/widen/emit/function_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include "compiler/contract/intrinsics.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {

FunctionEmitter::FunctionEmitter(llvm::Function& scalar, llvm::Function& wide, ModuleState& module,
                                 const ShapeAnalysis& shapes, const Schedule& schedule)
    : scalar_(scalar),
      wide_(wide),
      module_(module),
      shapes_(shapes),
      schedule_(schedule),
      slots_block_(llvm::BasicBlock::Create(wide.getContext(), "slots", &wide)),
      prologue_(llvm::BasicBlock::Create(wide.getContext(), "prologue", &wide)),
      builder_(wide.getContext()),
      abi_(wide.getArg(0), scalar.getName() == "tutti.kernel" && wide.arg_size() == 2 ? wide.getArg(1) : nullptr,
           prologue_),
      values_(builder_, shapes, schedule, slots_block_, prologue_),
      frame_(scalar),
      spans_(scalar, module.module.getDataLayout()),
      rows_(scalar, module.module.getDataLayout(), shapes),
      facts_(scalar) {}

Status FunctionEmitter::Emit() {
  for (const llvm::BasicBlock& block : scalar_) {
    for (const llvm::Instruction& instruction : block) {
      if (!Values::IsSupported(instruction.getType())) Unsupported(instruction, "its type has no vector form");
    }
  }
  if (failed()) return status_;
  tells_exits_ = is_kernel() && AsksWhoHasEnded();
  for (unsigned i = 0; i < schedule_.size(); ++i) {
    entries_.push_back(llvm::BasicBlock::Create(wide_.getContext(), schedule_.block(i)->getName(), &wide_));
  }
  PrepareEntry();
  for (unsigned i = 0; i < schedule_.size() && !failed(); ++i) EmitBlock(i);
  if (failed()) return status_;
  ClearSlots();
  llvm::IRBuilder<>(slots_block_).CreateBr(prologue_);
  llvm::IRBuilder<>(prologue_).CreateBr(setup_first_);
  llvm::IRBuilder<>(setup_last_).CreateBr(entries_[0]);
  return status_;
}

bool FunctionEmitter::OthersMayBeElsewhere(unsigned block) const {
  if (!is_kernel()) return true;  // the caller's
  return llvm::any_of(schedule_.waiting(block).set_bits(), [&](unsigned other) {
    return !llvm::isa<llvm::ReturnInst>(schedule_.block(other)->getTerminator());
  });
}

// Needed by barriers, lanes that take turns, and operations at which lanes may have diverged.
bool FunctionEmitter::AsksWhoHasEnded() const {
  if (UsesBarrier(module_.module) || module_.module.getFunction(IntrinsicName("tutti.turn").get()) != nullptr)
    return true;
  const auto meets = [](const llvm::BasicBlock& block) {
    return llvm::any_of(block, [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      return call != nullptr && IsMeetingOfMembers(ClassifyCall(*call).kind);
    });
  };
  for (unsigned i = 0; i < schedule_.size(); ++i) {
    if (OthersMayBeElsewhere(i) && meets(*schedule_.block(i))) return true;
  }
  return llvm::any_of(module_.module, [&](const llvm::Function& function) {
    return &function != &scalar_ && llvm::any_of(function, meets);
  });
}

void FunctionEmitter::EmitBlock(unsigned block) {
  // In front of the blocks that it is split into: LLVM keeps the places where a value lives as ranges of this order, so
  // one that lives through neighbours has one range.
  entries_[block]->moveAfter(&wide_.back());
  builder_.SetInsertPoint(entries_[block]);
  block_ = block;
  met_.clear();
  if (pending_[block] != nullptr) {
    mask_ = schedule_.runs_all_lanes(block) ? entry_mask_ : Pending(block);
    SetPending(block, llvm::Constant::getNullValue(mask_->getType()));
  } else {
    mask_ = entry_mask_;
  }
  mask_bits_ = nullptr;
  values_.EnterBlock(block);
  const llvm::BasicBlock& scalar = *schedule_.block(block);
  EmitPhis(scalar);
  for (const llvm::Instruction& instruction : scalar) {
    if (failed()) return;
    if (llvm::isa<llvm::PHINode>(instruction)) continue;
    if (instruction.isTerminator()) {
      EmitTerminator(instruction);
    } else {
      EmitInstruction(instruction);
    }
  }
}

llvm::SmallVector<llvm::AllocaInst*, 2>& FunctionEmitter::WarpVariable(const llvm::Value& alloca) {
  auto& parts = warp_variables_[&alloca];
  llvm::Type* type = llvm::cast<llvm::AllocaInst>(alloca).getAllocatedType();
  for (unsigned i = 0; parts.size() < Values::ComponentCount(type); ++i) {
    llvm::AllocaInst* part = values_.Slot(Values::Wide(Values::Component(type, i)), "variable");
    part->setAlignment(llvm::Align(64));
    // Lanes that are absent never set theirs, but an operation of the whole warp reads all: it must not see what was
    // left on the stack.
    new llvm::StoreInst(llvm::Constant::getNullValue(part->getAllocatedType()), part, /*isVolatile=*/false,
                        part->getAlign(), std::next(part->getIterator()));
    parts.push_back(part);
  }
  return parts;
}

llvm::Value* FunctionEmitter::NextFrame() {
  llvm::Value* bytes = builder_.getInt64(frame_.bytes());
  return is_kernel() ? bytes : builder_.CreateAdd(wide_.getArg(2), bytes);
}

llvm::Value* FunctionEmitter::Bits(llvm::Value* lanes) { return builder_.CreateBitCast(lanes, builder_.getInt32Ty()); }
llvm::Value* FunctionEmitter::Lanes(llvm::Value* bits) {
  return builder_.CreateBitCast(bits, Values::Wide(builder_.getInt1Ty()));
}

// Without AVX-512 LLVM takes the bits apart one by one, in 150 instructions. Its vectors have no shuffle of bytes
// across their halves, so each half takes its two bytes from a copy of the word of its own.
llvm::Value* FunctionEmitter::LanesOfWord(llvm::Value* bits) {
  if (module_.options.avx512) return Lanes(bits);
  constexpr unsigned kBits = 8, kHalf = kLanes / 2;
  llvm::Value* words = builder_.CreateVectorSplat(kLanes / sizeof(uint32_t), bits);
  llvm::SmallVector<int, kLanes> bytes;
  llvm::SmallVector<llvm::Constant*, kLanes> own;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    bytes.push_back(static_cast<int>((lane < kHalf ? 0 : kHalf) + lane / kBits));
    own.push_back(builder_.getInt8(static_cast<uint8_t>(1u << lane % kBits)));
  }
  llvm::Value* copies =
      builder_.CreateShuffleVector(builder_.CreateBitCast(words, Values::Wide(builder_.getInt8Ty())), bytes);
  llvm::Constant* mine = llvm::ConstantVector::get(own);
  return builder_.CreateICmpEQ(builder_.CreateAnd(copies, mine), mine);
}

llvm::Value* FunctionEmitter::mask_bits() {
  if (mask_bits_ == nullptr) mask_bits_ = Bits(mask_);
  return mask_bits_;
}

bool FunctionEmitter::is_full() const {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask_);
  return constant != nullptr && constant->isAllOnesValue();
}

// Made next to the mask, once: many accesses branch on it (link/shared_conditions.h).
llvm::Value* FunctionEmitter::RunsAll() {
  llvm::Value*& all = all_in_[mask_];
  if (all != nullptr) return all;
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(mask_))
    builder_.SetInsertPoint(instruction->getParent(), std::next(instruction->getIterator()));
  return all = builder_.CreateICmpEQ(Bits(mask_), builder_.getInt32(~0u));
}

llvm::Value* FunctionEmitter::Masked(llvm::Value* condition, bool otherwise) {
  if (is_full()) return condition;
  return builder_.CreateSelect(mask_, condition, llvm::ConstantInt::getBool(condition->getType(), otherwise));
}

llvm::Value* FunctionEmitter::FirstLane() {
  return builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {builder_.getInt32Ty()}, {mask_bits(), builder_.getTrue()});
}

void FunctionEmitter::SetApart() {
  builder_.CreateStore(builder_.getTrue(), IsApart());
  if (pending_of_copy_ == nullptr) return;
  // Passed to opaque assembly, the array is not split up by LLVM.
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pending_of_copy_->getType()}, false);
  builder_.CreateCall(type, llvm::InlineAsm::get(type, "", "r,~{memory}", /*hasSideEffects=*/true), {pending_of_copy_});
  builder_.CreateMemSet(pending_of_copy_, builder_.getInt8(0), schedule_.size() * sizeof(uint32_t), llvm::Align(4),
                        /*isVolatile=*/true);
}

llvm::AllocaInst* FunctionEmitter::IsApart() {
  if (is_apart_ == nullptr) {
    is_apart_ = values_.Slot(builder_.getInt1Ty(), "apart");
    llvm::IRBuilder<>(prologue_).CreateStore(builder_.getFalse(), is_apart_);
  }
  return is_apart_;
}

void FunctionEmitter::Unless(llvm::Value* condition, llvm::function_ref<void()> body) {
  auto* rare = llvm::BasicBlock::Create(wide_.getContext(), "rare", &wide_);
  auto* join = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
  builder_.CreateCondBr(condition, join, rare, llvm::MDBuilder(wide_.getContext()).createLikelyBranchWeights());
  builder_.SetInsertPoint(rare);
  mask_bits_ = nullptr;
  {
    Values::ColdScope cold(values_);
    body();
  }
  mask_bits_ = nullptr;
  builder_.CreateBr(join);
  builder_.SetInsertPoint(join);
}

llvm::Value* FunctionEmitter::Choose(llvm::Value* condition, llvm::function_ref<llvm::Value*()> likely,
                                     llvm::function_ref<llvm::Value*()> rare) {
  auto* often = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
  auto* seldom = llvm::BasicBlock::Create(wide_.getContext(), "rare", &wide_);
  auto* join = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
  builder_.CreateCondBr(condition, often, seldom, llvm::MDBuilder(wide_.getContext()).createLikelyBranchWeights());
  const auto path = [&](llvm::BasicBlock* block, llvm::function_ref<llvm::Value*()> make) {
    builder_.SetInsertPoint(block);
    Values::ColdScope cold(values_);
    mask_bits_ = nullptr;
    llvm::Value* value = make();
    mask_bits_ = nullptr;
    llvm::BasicBlock* end = builder_.GetInsertBlock();
    builder_.CreateBr(join);
    return std::pair(value, end);
  };
  const auto [first, first_end] = path(often, likely);
  const auto [second, second_end] = path(seldom, rare);
  builder_.SetInsertPoint(join);
  if (first == nullptr) return nullptr;
  llvm::PHINode* phi = builder_.CreatePHI(first->getType(), 2);
  phi->addIncoming(first, first_end);
  phi->addIncoming(second, second_end);
  return phi;
}

void FunctionEmitter::ForEachLane(llvm::Value* bits, llvm::function_ref<void(llvm::Value*)> body) {
  auto* loop = llvm::BasicBlock::Create(wide_.getContext(), "lanes", &wide_);
  auto* done = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.CreateCondBr(builder_.CreateICmpEQ(bits, builder_.getInt32(0)), done, loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* rest = builder_.CreatePHI(builder_.getInt32Ty(), 2);
  rest->addIncoming(bits, before);
  llvm::Value* lane =
      builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {builder_.getInt32Ty()}, {rest, builder_.getTrue()});
  {
    Values::ColdScope scope(values_);
    mask_bits_ = nullptr;
    body(lane);
  }
  llvm::Value* next = builder_.CreateAnd(rest, builder_.CreateSub(rest, builder_.getInt32(1)));
  mask_bits_ = nullptr;
  rest->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpEQ(next, builder_.getInt32(0)), done, loop);
  builder_.SetInsertPoint(done);
}

void FunctionEmitter::ForAllLanes(llvm::function_ref<void(llvm::Value*)> body) {
  constexpr uint32_t kPerRound = 4;
  auto* loop = llvm::BasicBlock::Create(wide_.getContext(), "all_lanes", &wide_);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* first = builder_.CreatePHI(builder_.getInt32Ty(), 2);
  first->addIncoming(builder_.getInt32(0), before);
  {
    Values::ColdScope scope(values_);
    for (uint32_t i = 0; i < kPerRound; ++i) body(builder_.CreateAdd(first, builder_.getInt32(i)));
  }
  llvm::Value* next = builder_.CreateAdd(first, builder_.getInt32(kPerRound));
  first->addIncoming(next, builder_.GetInsertBlock());
  auto* done = llvm::BasicBlock::Create(wide_.getContext(), "", &wide_);
  builder_.CreateCondBr(builder_.CreateICmpULT(next, builder_.getInt32(kLanes)), loop, done);
  builder_.SetInsertPoint(done);
}

llvm::AllocaInst* FunctionEmitter::LaneArray(llvm::Type* scalar) {
  llvm::AllocaInst* array = values_.Slot(llvm::ArrayType::get(scalar, kLanes));
  array->setAlignment(llvm::Align(64));
  return array;
}

llvm::Value* FunctionEmitter::LaneElement(llvm::Value* array, llvm::Type* scalar, llvm::Value* lane) {
  return builder_.CreateInBoundsGEP(scalar, array, builder_.CreateZExt(lane, builder_.getInt64Ty()));
}

llvm::Value* FunctionEmitter::Location(const llvm::Instruction& instruction) {
  return builder_.getInt32(module_.locations.IndexOf(instruction));
}

void FunctionEmitter::Unsupported(const llvm::Instruction& instruction, const std::string& why) {
  if (failed()) return;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "cannot widen" << instruction << " in " << scalar_.getName() << ": " << why;
  status_ = Fail(text);
}

}  // namespace tutti::compiler
