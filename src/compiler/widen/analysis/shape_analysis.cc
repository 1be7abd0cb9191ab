#include "compiler/widen/analysis/shape_analysis.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/analysis/shape_rules.h"

namespace tutti::compiler {

ShapeAnalysis::ShapeAnalysis(const llvm::Function& function, const BlockShape& block, uint64_t frame_bytes,
                             Schedule& schedule)
    : layout_(function.getParent()->getDataLayout()), block_(block), frame_bytes_(frame_bytes) {
  for (const llvm::Argument& argument : function.args()) shapes_[&argument] = Shape::Varying();
  for (const llvm::Instruction& instruction : llvm::instructions(function)) shapes_[&instruction] = Shape();
  llvm::BitVector divergent(schedule.size());
  for (bool changed = true; changed;) {
    schedule.Simulate(divergent);
    while (Lower(schedule)) {
    }
    changed = false;
    for (unsigned i = 0; i < schedule.size(); ++i) {
      if (divergent.test(i) || !IsDivergent(*schedule.block(i))) continue;
      divergent.set(i);
      changed = true;
    }
  }
}

bool ShapeAnalysis::Lower(Schedule& schedule) {
  bool changed = false;
  for (unsigned i = 0; i < schedule.size(); ++i) {
    for (const llvm::Instruction& instruction : *schedule.block(i)) {
      Shape& shape = shapes_.find(&instruction)->second;
      if (shape.is_varying()) continue;
      Shape computed = Compute(instruction, schedule);
      const bool same = computed == shape;
      shape = std::move(computed);
      changed |= !same;
    }
  }
  return changed;
}

const Shape& ShapeAnalysis::Of(const llvm::Value* value) const {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    auto& shape = constants_[constant];
    if (!shape) shape = std::make_unique<Shape>(ConstantShape(*constant));
    return *shape;
  }
  const auto found = shapes_.find(value);
  static const Shape kUniform = Shape::Uniform();
  return found != shapes_.end() ? found->second : kUniform;  // metadata and the like
}

bool ShapeAnalysis::IsDivergent(const llvm::BasicBlock& block) const {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1) &&
         !Of(branch->getCondition()).is_uniform() && !Of(branch->getCondition()).is_unknown();
}

Shape ShapeAnalysis::Compute(const llvm::Instruction& instruction, const Schedule& schedule) const {
  const auto shape_of = [this](const llvm::Value* value) -> const Shape& { return Of(value); };
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    if (schedule.is_join(phi->getParent())) return Shape::Varying();
    Shape shape = Of(phi);
    for (const llvm::Value* incoming : phi->incoming_values()) shape = MeetShapes(shape, Of(incoming), phi->getType());
    return shape;
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (IsWarpVariable(*load->getPointerOperand())) return Shape::Varying();
    return LoadShape(*load, Of(load->getPointerOperand()));
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return ComputeCall(*call);
  if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    const uint64_t distance = InterleaveDistance(*alloca);
    return LocalAddress(distance != 0 ? distance : frame_bytes_);
  }
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return Shape::Varying();
  if (instruction.getType()->isVoidTy()) return Shape::Varying();
  return ElementwiseShape(instruction, layout_, shape_of);
}

// Of the same thing in each lane's local memory, `distance` bytes apart.
Shape ShapeAnalysis::LocalAddress(uint64_t distance) {
  Shape shape = Shape::Uniform(BaseRule::kSource);
  LaneOffsets offsets;
  for (unsigned lane = 0; lane < kLanes; ++lane) offsets[lane] = static_cast<int64_t>(lane * distance);
  shape.set_offsets(offsets, 64);
  return shape;
}

Shape ShapeAnalysis::ComputeCall(const llvm::CallInst& call) const {
  const auto [kind, suffix] = ClassifyCall(call);
  if (IsUniformResult(kind)) return Shape::Uniform(BaseRule::kSource);
  if (IsUniformAmongMembers(kind)) {
    const Shape& members = Of(call.getArgOperand(0));
    if (members.is_unknown()) return {};
    return members.is_uniform() ? Shape::Uniform(BaseRule::kSource) : Shape::Varying();
  }
  switch (kind) {
    case Intrinsic::kStack: return LocalAddress(frame_bytes_);
    case Intrinsic::kTid: return block_.IndexShape(static_cast<unsigned>(suffix.front() - 'x'));
    case Intrinsic::kLaneid: {
      Shape shape = Shape::Uniform(BaseRule::kFolded);
      LaneOffsets lanes;
      for (unsigned lane = 0; lane < kLanes; ++lane) lanes[lane] = lane;
      shape.set_offsets(lanes, 32);
      shape.set_align(Shape::kZeroBase);
      return shape;
    }
    case Intrinsic::kFunction: {
      bool uniform = true;
      for (const llvm::Value* argument : call.args()) {
        if (Of(argument).is_unknown()) return {};
        uniform &= Of(argument).is_uniform();
      }
      return uniform ? Shape::Uniform(BaseRule::kSource) : Shape::Varying();
    }
    default: break;
  }
  if (IsElementwiseIntrinsic(call))
    return ElementwiseShape(call, layout_, [this](const llvm::Value* value) -> const Shape& { return Of(value); });
  return Shape::Varying();
}

}  // namespace tutti::compiler
