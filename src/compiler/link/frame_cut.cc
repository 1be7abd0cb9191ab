#include "compiler/link/frame_cut.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include "compiler/passes/live_values.h"

namespace tutti::compiler {
namespace {

constexpr unsigned kMaxDepth = 4;  // of an expression to rematerialise
constexpr uint64_t kFrameAlignment = 64;

bool IsCheap(const llvm::Instruction& instruction) {
  if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
    return !binary->isIntDivRem() && binary->getType()->isIntOrIntVectorTy();
  return llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst, llvm::CastInst, llvm::ICmpInst>(instruction);
}

// A scalar that takes a few cheap instructions from arguments and constants.
bool IsOfArguments(const llvm::Instruction& value, unsigned depth = kMaxDepth) {
  const bool is_cheap = IsCheap(value) || llvm::isa<llvm::GetElementPtrInst>(value);
  if (value.getType()->isVectorTy() || !is_cheap || depth == 0) return false;
  return llvm::all_of(value.operands(), [&](const llvm::Use& operand) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand.get());
    return instruction == nullptr || IsOfArguments(*instruction, depth - 1);
  });
}

// An address that is another scalar and a constant distance: what the accesses to it add anyway.
bool IsAtDistance(const llvm::Instruction& value) {
  if (value.getType()->isVectorTy()) return false;
  // A variable is a place, not a value to keep: each step has its own.
  if (llvm::isa<llvm::IntToPtrInst, llvm::PtrToIntInst>(value))
    return !llvm::isa<llvm::AllocaInst>(value.getOperand(0));
  return value.getOpcode() == llvm::Instruction::Add && value.getType()->isIntegerTy(64) &&
         llvm::isa<llvm::ConstantInt>(value.getOperand(1));
}

bool IsMadeAgainScalar(const llvm::Instruction& value) { return IsOfArguments(value) || IsAtDistance(value); }

// The value can be rematerialised in a few cheap instructions: a scalar from arguments, or from one at a constant
// distance; a vector from any scalars.
bool CanBeMadeAgain(const llvm::Instruction& value, unsigned depth = kMaxDepth) {
  if (!value.getType()->isVectorTy()) return IsMadeAgainScalar(value);
  if (!IsCheap(value) || depth == 0) return false;
  for (const llvm::Value* operand : value.operands()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand);
    if (instruction == nullptr || !instruction->getType()->isVectorTy()) continue;
    if (!CanBeMadeAgain(*instruction, depth - 1)) return false;
  }
  return true;
}

bool IsVolatile(const llvm::Instruction& pointer) {
  return llvm::any_of(pointer.users(), [](const llvm::User* user) {
    const auto& instruction = *llvm::cast<llvm::Instruction>(user);
    return instruction.isVolatile() || (llvm::isa<llvm::GetElementPtrInst>(instruction) && IsVolatile(instruction));
  });
}

// `value` is what one of the `restored` values was restored to, whichever cut this step began at.
bool IsFromFrame(const llvm::Value* value, const llvm::DenseMap<llvm::BasicBlock*, llvm::Value*>& restored) {
  llvm::SmallSetVector<const llvm::Value*, 8> pending;
  pending.insert(value);
  for (unsigned i = 0; i < pending.size(); ++i) {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(pending[i])) {
      pending.insert(phi->op_begin(), phi->op_end());
      continue;
    }
    if (llvm::none_of(restored, [&](const auto& entry) { return entry.second == pending[i]; })) return false;
  }
  return true;
}

}  // namespace

bool FrameCut::IsKept(const llvm::AllocaInst& variable) { return IsVolatile(variable); }

FrameCut::FrameCut(llvm::Function& function, llvm::ArrayRef<llvm::CallInst*> calls, IsShared is_shared) {
  llvm::SmallVector<llvm::BasicBlock*, 8> after;
  for (llvm::CallInst* call : calls) {
    after.push_back(call->getParent()->splitBasicBlock(std::next(call->getIterator()), "after"));
    Cut& cut = cuts_.emplace_back();
    cut.call = call;
    cut.after = after.back();
  }
  const auto live = LiveInto(function, after);
  for (Cut& cut : cuts_) Plan(cut, live.find(cut.after)->second);

  const llvm::DataLayout& layout = function.getDataLayout();
  for (auto& [value, place] : slots_) {
    const uint64_t bytes = layout.getTypeStoreSize(value->getType());
    place.shared = is_shared(*value);
    uint64_t& end = place.shared ? shared_bytes_ : frame_bytes_;
    place.offset = llvm::alignTo(end, std::min(kFrameAlignment, llvm::PowerOf2Ceil(bytes)));
    end = place.offset + bytes;
  }
  shared_bytes_ = llvm::alignTo(shared_bytes_, kFrameAlignment);
  kept_bytes_ = frame_bytes_;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca == nullptr || !IsVolatile(*alloca)) continue;
    variables_[alloca] = frame_bytes_ = llvm::alignTo(frame_bytes_, kFrameAlignment);
    frame_bytes_ += alloca->getAllocationSize(layout)->getFixedValue();
  }
  frame_bytes_ = llvm::alignTo(std::max<uint64_t>(frame_bytes_, 1), kFrameAlignment);
}

llvm::SmallVector<std::pair<uint64_t, llvm::Type*>, 8> FrameCut::shared_places() const {
  llvm::SmallVector<std::pair<uint64_t, llvm::Type*>, 8> places;
  for (const auto& [value, place] : slots_) {
    if (place.shared) places.push_back({place.offset, value->getType()});
  }
  return places;
}

void FrameCut::Keep(Cut& cut, llvm::Instruction* value) {
  if (llvm::is_contained(cut.kept, value)) return;
  cut.kept.push_back(value);
  slots_.insert({value, {}});
}

void FrameCut::Plan(Cut& cut, llvm::ArrayRef<llvm::Instruction*> live) {
  for (llvm::Instruction* value : live) {
    if (!CanBeMadeAgain(*value)) {
      Keep(cut, value);
      continue;
    }
    cut.made_again.push_back(value);
    llvm::SmallVector<llvm::Instruction*, 8> pending = {value};
    while (!pending.empty()) {
      for (llvm::Value* operand : pending.pop_back_val()->operands()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand);
        if (instruction == nullptr) continue;
        if (instruction->getType()->isVectorTy() || IsMadeAgainScalar(*instruction)) {
          pending.push_back(instruction);
        } else {
          Keep(cut, instruction);
        }
      }
    }
  }
}

llvm::Value* FrameCut::Slot(llvm::IRBuilder<>& builder, llvm::Value* frame, llvm::Instruction* value) const {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), frame, slots_.lookup(value).offset);
}

llvm::Value* FrameCut::MakeAgain(Cut& cut, llvm::Instruction* value, llvm::IRBuilder<>& builder) {
  if (llvm::Value* made = cut.values.lookup(value)) return made;
  llvm::Instruction* copy = value->clone();
  for (llvm::Use& operand : copy->operands()) {
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand.get()))
      operand.set(MakeAgain(cut, instruction, builder));
  }
  builder.Insert(copy, value->getName());
  return cut.values[value] = copy;
}

void FrameCut::Restore(Cut& cut, const Frames& frames) {
  llvm::IRBuilder<> builder(cut.after, cut.after->getFirstInsertionPt());
  for (llvm::Instruction* value : cut.kept) {
    const llvm::Align alignment(
        std::min(kFrameAlignment, llvm::PowerOf2Ceil(value->getDataLayout().getTypeStoreSize(value->getType()))));
    llvm::Value* frame = slots_.lookup(value).shared ? frames.shared_before : frames.own;
    cut.values[value] =
        builder.CreateAlignedLoad(value->getType(), Slot(builder, frame, value), alignment, value->getName());
  }
  for (llvm::Instruction* value : cut.made_again) MakeAgain(cut, value, builder);
}

// `value` has its own definition, and one behind each cut that it is live across: gives every use, and every store into
// the frame, the definition that reaches it.
void FrameCut::Rewrite(llvm::Instruction* value, const Frames& frames) {
  llvm::SmallVector<llvm::Use*, 16> uses;
  for (llvm::Use& use : value->uses()) uses.push_back(&use);
  llvm::SSAUpdater updater;
  updater.Initialize(value->getType(), value->getName());
  updater.AddAvailableValue(value->getParent(), value);
  llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> restored;
  for (Cut& cut : cuts_) {
    llvm::Value* again = cut.values.lookup(value);
    if (again == nullptr) continue;
    updater.AddAvailableValue(cut.after, again);
    restored[cut.after] = again;
  }
  for (llvm::Use* use : uses) {
    auto* user = llvm::cast<llvm::Instruction>(use->getUser());
    if (llvm::isa<llvm::PHINode>(user)) {
      updater.RewriteUse(*use);
    } else if (user->getParent() == value->getParent()) {
      continue;
    } else if (llvm::Value* again = restored.lookup(user->getParent())) {
      use->set(again);
    } else {
      updater.RewriteUse(*use);
    }
  }
  const bool shared = slots_.lookup(value).shared;
  llvm::Value* frame = shared ? frames.shared_after : frames.own;
  for (Cut& cut : cuts_) {
    if (!llvm::is_contained(cut.kept, value)) continue;
    llvm::BasicBlock* before = cut.call->getParent();
    llvm::Value* reaching = updater.GetValueAtEndOfBlock(before);
    if (!shared && IsFromFrame(reaching, restored)) continue;  // the frame still holds it
    llvm::IRBuilder<> builder(before->getTerminator());
    const llvm::Align alignment(
        std::min(kFrameAlignment, llvm::PowerOf2Ceil(value->getDataLayout().getTypeStoreSize(value->getType()))));
    builder.CreateAlignedStore(reaching, Slot(builder, frame, value), alignment);
  }
}

void FrameCut::Return(Cut& cut, llvm::Function& step, uint32_t state) {
  llvm::Instruction* branch = cut.call->getParent()->getTerminator();
  llvm::ReturnInst::Create(step.getContext(), llvm::ConstantInt::get(step.getReturnType(), state),
                           branch->getIterator());
  branch->eraseFromParent();
}

void FrameCut::Dispatch(llvm::Function& step, llvm::Value* state) {
  llvm::BasicBlock& begin = step.getEntryBlock();
  auto* entry = llvm::BasicBlock::Create(step.getContext(), "enter", &step, &begin);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(begin)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(*entry, entry->end());
  }
  llvm::IRBuilder<> builder(entry);
  llvm::SwitchInst* choice = builder.CreateSwitch(state, &begin, static_cast<unsigned>(cuts_.size()));
  for (uint32_t i = 0; i < cuts_.size(); ++i) choice->addCase(builder.getInt32(i + 1), cuts_[i].after);
}

void FrameCut::PlaceVariables(llvm::Value* frame) {
  for (const auto& [alloca, offset] : variables_) {
    llvm::IRBuilder<> builder(alloca);
    alloca->replaceAllUsesWith(builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), frame, offset));
    alloca->eraseFromParent();
  }
}

void FrameCut::Apply(llvm::Function& step, const Frames& frames, llvm::Value* state) {
  llvm::SetVector<llvm::Instruction*> values;
  for (const Cut& cut : cuts_) {
    values.insert(cut.kept.begin(), cut.kept.end());
    values.insert(cut.made_again.begin(), cut.made_again.end());
  }
  for (uint32_t i = 0; i < cuts_.size(); ++i) Return(cuts_[i], step, i + 1);
  Dispatch(step, state);
  // Copies refer only to values behind the cut, so they are made before anything is rewritten.
  for (Cut& cut : cuts_) Restore(cut, frames);
  for (llvm::Instruction* value : values) Rewrite(value, frames);
  for (Cut& cut : cuts_) cut.call->eraseFromParent();
  PlaceVariables(frames.own);
}

}  // namespace tutti::compiler
