#include "compiler/widen/analysis/intrinsics.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <iterator>

namespace tutti::compiler {
namespace {

// The first row of a kind: all of one kind mean the same.
const IntrinsicRow* RowOf(Intrinsic kind) {
  const auto* const row = llvm::find_if(kIntrinsics, [&](const IntrinsicRow& row) { return row.kind == kind; });
  return row == std::end(kIntrinsics) ? nullptr : row;
}

IntrinsicRow::Meets WhoMeets(Intrinsic kind) {
  const IntrinsicRow* const row = RowOf(kind);
  return row == nullptr ? IntrinsicRow::Meets::kNobody : row->meets;
}

IntrinsicRow::Result ResultOf(Intrinsic kind) {
  const IntrinsicRow* const row = RowOf(kind);
  return row == nullptr ? IntrinsicRow::Result::kVarying : row->result;
}

}  // namespace

IntrinsicCall ClassifyFunction(const llvm::Function* function) {
  if (function == nullptr) return {};
  llvm::StringRef name = function->getName();
  const IntrinsicRow* const row = FindIntrinsic(name);
  if (!name.consume_front(llvm::StringRef(kIntrinsicPrefix)) || name == "kernel") return {};
  if (row == nullptr) return {Intrinsic::kUnknown, name};
  // ".x" of "ntid.x" is kept with its family's name: several families are of this kind.
  if (row->kind == Intrinsic::kBlockField) return {row->kind, name};
  return {row->kind, name.drop_front(std::min(name.size(), row->name.size() + 1))};
}

bool IsMeetingOfMembers(Intrinsic kind) { return WhoMeets(kind) == IntrinsicRow::Meets::kMembers; }

bool IsMeetingOfAll(Intrinsic kind) { return WhoMeets(kind) == IntrinsicRow::Meets::kAll || IsBarrier(kind); }

bool IsBarrier(Intrinsic kind) { return WhoMeets(kind) == IntrinsicRow::Meets::kThreads; }

bool AreMembersHere(const llvm::CallInst& call) {
  const auto* members = llvm::dyn_cast<llvm::CallInst>(call.getArgOperand(0));
  return members != nullptr && members->getParent() == call.getParent() &&
         ClassifyCall(*members).kind == Intrinsic::kActivemask;
}

bool IsAligned(const llvm::CallInst& call) {
  const Intrinsic kind = ClassifyCall(call).kind;
  return kind == Intrinsic::kMatrix || kind == Intrinsic::kMatrixLoad || kind == Intrinsic::kMatrixRows ||
         kind == Intrinsic::kWarpGroup || call.hasMetadata("tutti.aligned");
}

bool WaitsForLanes(const llvm::BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr) return false;
    const Intrinsic kind = ClassifyCall(*call).kind;
    return IsMeetingOfAll(kind) || (IsMeetingOfMembers(kind) && !AreMembersHere(*call));
  });
}

bool IsUniformResult(Intrinsic kind) { return ResultOf(kind) == IntrinsicRow::Result::kUniform; }

bool IsUniformAmongMembers(Intrinsic kind) { return ResultOf(kind) == IntrinsicRow::Result::kOfMembers; }

bool UsesBarrier(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    return !function.use_empty() && IsBarrier(ClassifyFunction(&function).kind);
  });
}

bool MayYield(const llvm::Module& module) {
  return UsesBarrier(module) || llvm::any_of(module, [](const llvm::Function& function) {
           return !function.use_empty() && ClassifyFunction(&function).kind == Intrinsic::kYield;
         });
}

}  // namespace tutti::compiler
