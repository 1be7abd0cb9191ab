#include "compiler/widen/lanes/lane_functions.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "compiler/widen/lanes/lane_regions.h"
#include "compiler/widen/lanes/rolled_loops.h"

namespace tutti::compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr const char* kMark = "tutti.lane";

// Worth the analysis: a loop that loads.
bool MayHaveRegions(const llvm::LoopInfo& loops) {
  return llvm::any_of(loops.getLoopsInPreorder(), [](const llvm::Loop* loop) {
    return llvm::any_of(loop->blocks(), [](const BasicBlock* block) {
      return llvm::any_of(*block,
                          [](const Instruction& instruction) { return llvm::isa<llvm::LoadInst>(instruction); });
    });
  });
}

// One region on its way out of its function.
class Outliner {
 public:
  explicit Outliner(LaneRegion region) : region_(std::move(region)) {}

  llvm::Function& Outline() {
    HoistCalls();
    SplitEnds();
    FindValues();
    llvm::Function& made = Declare();
    Move(made);
    return made;
  }

 private:
  void HoistCalls() {
    for (BasicBlock* block : region_.blocks) {
      for (Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (IsOfThread(instruction)) instruction.moveBefore(region_.before->getTerminator());
      }
    }
  }

  // The region gets a first block of its own, and a last one, in which its ways out meet.
  void SplitEnds() {
    entry_ = llvm::SplitBlock(region_.before, region_.before->getTerminator());
    region_.blocks.insert(entry_);
    llvm::SmallVector<BasicBlock*, 4> leaving;
    for (BasicBlock* from : llvm::predecessors(region_.exit)) {
      if (region_.blocks.contains(from) && !llvm::is_contained(leaving, from)) leaving.push_back(from);
    }
    last_ = llvm::SplitBlockPredecessors(region_.exit, leaving, ".lanes");
    region_.blocks.insert(last_);
  }

  void FindValues() {
    for (BasicBlock* block : region_.blocks) {
      for (Instruction& instruction : *block) {
        for (const llvm::Use& operand : instruction.operands()) {
          const auto* defined = llvm::dyn_cast<Instruction>(operand.get());
          if (llvm::isa<llvm::Argument>(operand.get()) || (defined != nullptr && !IsInside(*defined)))
            taken_.insert(operand.get());
        }
        if (llvm::any_of(instruction.users(),
                         [&](const llvm::User* user) { return !IsInside(*llvm::cast<Instruction>(user)); }))
          returned_.push_back(&instruction);
      }
    }
  }

  bool IsInside(const Instruction& instruction) const {
    return region_.blocks.contains(const_cast<BasicBlock*>(instruction.getParent()));
  }

  static llvm::Type* ReturnedType(llvm::Type* type) {
    return type->isPointerTy() ? llvm::Type::getInt64Ty(type->getContext()) : type;
  }

  llvm::Function& Declare() {
    llvm::LLVMContext& context = entry_->getContext();
    llvm::SmallVector<llvm::Type*, 8> parameters, results;
    for (const Value* value : taken_) parameters.push_back(value->getType());
    for (const Instruction* value : returned_) results.push_back(ReturnedType(value->getType()));
    llvm::Type* result = results.empty() ? llvm::Type::getVoidTy(context)
                                         : static_cast<llvm::Type*>(llvm::StructType::get(context, results));
    auto* made = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                        llvm::GlobalValue::InternalLinkage, "lane", *entry_->getModule());
    made->addFnAttr(kMark);
    made->addFnAttr(llvm::Attribute::NullPointerIsValid);
    return *made;
  }

  void Move(llvm::Function& made) {
    llvm::IRBuilder<> builder(region_.before->getTerminator());
    llvm::CallInst* call = builder.CreateCall(&made, taken_.getArrayRef());
    llvm::SmallVector<Value*, 8> replacements;
    for (unsigned i = 0; i < returned_.size(); ++i) {
      Value* value = builder.CreateExtractValue(call, i);
      if (returned_[i]->getType()->isPointerTy()) value = builder.CreateIntToPtr(value, returned_[i]->getType());
      returned_[i]->replaceUsesWithIf(
          value, [&](const llvm::Use& use) { return !IsInside(*llvm::cast<Instruction>(use.getUser())); });
    }
    region_.before->getTerminator()->setSuccessor(0, region_.exit);
    region_.exit->replacePhiUsesWith(last_, region_.before);

    llvm::IRBuilder<> end(last_->getTerminator());
    if (returned_.empty()) {
      end.CreateRetVoid();
    } else {
      Value* all = llvm::PoisonValue::get(made.getReturnType());
      for (unsigned i = 0; i < returned_.size(); ++i) {
        Value* value = returned_[i];
        if (value->getType()->isPointerTy()) value = end.CreatePtrToInt(value, end.getInt64Ty());
        all = end.CreateInsertValue(all, value, i);
      }
      end.CreateRet(all);
    }
    last_->getTerminator()->eraseFromParent();

    entry_->removeFromParent();
    entry_->insertInto(&made);
    for (BasicBlock* block : region_.blocks) {
      if (block == entry_) continue;
      block->removeFromParent();
      block->insertInto(&made);
    }
    for (unsigned i = 0; i < taken_.size(); ++i) {
      taken_[i]->replaceUsesWithIf(made.getArg(i), [&](const llvm::Use& use) {
        return llvm::cast<Instruction>(use.getUser())->getFunction() == &made;
      });
    }
  }

  LaneRegion region_;
  BasicBlock *entry_ = nullptr, *last_ = nullptr;
  llvm::SmallSetVector<Value*, 8> taken_;
  llvm::SmallVector<Instruction*, 8> returned_;
};

// What others want of a loop they get by phis, at which the loop's two copies meet (lane_calls.cc).
void EndLoopsInPhis(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops) llvm::formLCSSARecursively(*loop, dominators, &loops, /*SE=*/nullptr);
}

}  // namespace

bool IsLaneFunction(const llvm::Function& function) { return function.hasFnAttribute(kMark); }

std::vector<llvm::Function*> OutlineLaneRegions(llvm::Function& scalar, const ModuleState& state) {
  llvm::DominatorTree dominators(scalar);
  llvm::LoopInfo loops(dominators);
  // Without the block's shape no address is known to be next to another one's.
  if (state.options.block[0] == 0 || !MayHaveRegions(loops)) return {};
  const auto find = [&] {
    Schedule schedule(scalar, loops);
    const ShapeAnalysis shapes(scalar, state.block, state.frame_bytes, schedule);
    return FindLaneRegions(scalar, loops, dominators, shapes, state.options);
  };
  std::vector<LaneRegion> regions = find();
  if (RollLoops(regions, loops, dominators)) regions = find();
  std::vector<llvm::Function*> made;
  for (LaneRegion& region : regions) made.push_back(&Outliner(std::move(region)).Outline());
  for (llvm::Function* function : made) EndLoopsInPhis(*function);
  return made;
}

}  // namespace tutti::compiler
