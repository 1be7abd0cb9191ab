#include "compiler/widen/analysis/intrinsics.h"

#include <llvm/IR/Module.h>

namespace tutti::compiler {
namespace {

struct Row {
  llvm::StringRef prefix;  // after "tutti."; the longest match comes first
  Intrinsic kind;
};

const Row kRows[] = {
    {"tid.", Intrinsic::kTid},
    {"laneid", Intrinsic::kLaneid},
    {"ntid.", Intrinsic::kBlockField},
    {"ctaid.", Intrinsic::kBlockField},
    {"nctaid.", Intrinsic::kBlockField},
    {"warpid", Intrinsic::kWarpid},
    {"nwarpid", Intrinsic::kNwarpid},
    {"smid", Intrinsic::kBlockField},
    {"nsmid", Intrinsic::kBlockField},
    {"gridid", Intrinsic::kBlockField},
    {"module_base", Intrinsic::kBlockField},
    {"constants_base", Intrinsic::kBlockField},
    {"shared_base", Intrinsic::kBlockField},
    {"param_base", Intrinsic::kBlockField},
    {"window_base", Intrinsic::kBlockField},
    {"window_bytes", Intrinsic::kBlockField},
    {"shared_bytes", Intrinsic::kBlockField},
    {"dynamic_shared_bytes", Intrinsic::kBlockField},
    {"dynamic_shared_offset", Intrinsic::kBlockField},
    {"cluster_ctaid.", Intrinsic::kBlockField},
    {"cluster_nctaid.", Intrinsic::kBlockField},
    {"cooperative_workspace", Intrinsic::kBlockField},
    {"clock", Intrinsic::kClock},
    {"globaltimer", Intrinsic::kGlobaltimer},
    {"activemask", Intrinsic::kActivemask},
    {"shfl.", Intrinsic::kShfl},
    {"ballot", Intrinsic::kBallot},
    {"match.any.", Intrinsic::kMatchAny},
    {"match.all.", Intrinsic::kMatchAll},
    {"redux.", Intrinsic::kRedux},
    {"elect", Intrinsic::kElect},
    {"warp_barrier", Intrinsic::kWarpBarrier},
    {"turn", Intrinsic::kTurn},
    {"absent", Intrinsic::kAbsent},
    {"set_apart", Intrinsic::kSetApart},
    {"is_apart", Intrinsic::kIsApart},
    {"barrier_enter", Intrinsic::kBarrierEnter},
    {"barrier_pass", Intrinsic::kBarrierPass},
    {"barrier_outcome.", Intrinsic::kBarrierOutcome},
    {"barrier.red.", Intrinsic::kBarrierReduce},
    {"barrier", Intrinsic::kBarrier},
    {"cluster_barrier", Intrinsic::kClusterBarrier},
    {"grid_barrier", Intrinsic::kGridBarrier},
    {"yield", Intrinsic::kYield},
    {"exit", Intrinsic::kExit},
    {"end_lane", Intrinsic::kEndLane},
    {"has_ended", Intrinsic::kHasEnded},
    {"trap", Intrinsic::kTrap},
    {"vprintf", Intrinsic::kPrint},
    {"assertfail", Intrinsic::kAssertFail},
    {"malloc", Intrinsic::kMalloc},
    {"free", Intrinsic::kFree},
    {"fence", Intrinsic::kFence},
    {"call.", Intrinsic::kIndirectCall},
    {"fn.", Intrinsic::kFunction},
    {"mma.", Intrinsic::kMatrix},
};

}  // namespace

IntrinsicCall ClassifyFunction(const llvm::Function* function) {
  if (function == nullptr) return {};
  llvm::StringRef name = function->getName();
  if (!name.consume_front("tutti.") || name == "kernel") return {};
  for (const Row& row : kRows) {
    llvm::StringRef rest = name;
    if (!rest.consume_front(row.prefix)) continue;
    if (!row.prefix.ends_with(".") && !rest.empty()) continue;
    // ".x" of "tid.x" is kept with its family's name where several families share a kind.
    return {row.kind, row.kind == Intrinsic::kBlockField ? name : rest};
  }
  return {Intrinsic::kUnknown, name};
}

bool IsMeetingOfMembers(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kShfl:
    case Intrinsic::kBallot:
    case Intrinsic::kMatchAny:
    case Intrinsic::kMatchAll:
    case Intrinsic::kRedux:
    case Intrinsic::kElect:
    case Intrinsic::kWarpBarrier: return true;
    default: return false;
  }
}

bool IsMeetingOfAll(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kBarrier:
    case Intrinsic::kBarrierReduce:
    case Intrinsic::kClusterBarrier:
    case Intrinsic::kGridBarrier:
    case Intrinsic::kMatrix: return true;
    default: return false;
  }
}

bool IsBarrier(Intrinsic kind) {
  return kind == Intrinsic::kBarrier || kind == Intrinsic::kBarrierReduce || kind == Intrinsic::kClusterBarrier ||
         kind == Intrinsic::kGridBarrier;
}

bool AreMembersHere(const llvm::CallInst& call) {
  const auto* members = llvm::dyn_cast<llvm::CallInst>(call.getArgOperand(0));
  return members != nullptr && members->getParent() == call.getParent() &&
         ClassifyCall(*members).kind == Intrinsic::kActivemask;
}

bool IsAligned(const llvm::CallInst& call) {
  return ClassifyCall(call).kind == Intrinsic::kMatrix || call.hasMetadata("tutti.aligned");
}

bool WaitsForLanes(const llvm::BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr) return false;
    const Intrinsic kind = ClassifyCall(*call).kind;
    return IsMeetingOfAll(kind) || (IsMeetingOfMembers(kind) && !AreMembersHere(*call));
  });
}

bool IsUniformResult(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kBlockField:
    case Intrinsic::kWarpid:
    case Intrinsic::kNwarpid:
    case Intrinsic::kClock:
    case Intrinsic::kGlobaltimer:
    case Intrinsic::kActivemask:
    case Intrinsic::kBarrierReduce:
    case Intrinsic::kTurn:
    case Intrinsic::kAbsent:
    case Intrinsic::kIsApart: return true;
    default: return false;
  }
}

bool IsUniformAmongMembers(Intrinsic kind) {
  return kind == Intrinsic::kBallot || kind == Intrinsic::kRedux || kind == Intrinsic::kMatchAll;
}

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
