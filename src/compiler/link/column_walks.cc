#include "compiler/link/column_walks.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

#include <optional>

#include "compiler/link/block_values.h"

namespace tutti::compiler {
namespace {

constexpr uint64_t kFarBytes = 2048;  // half a page: prefetchers stay within one
constexpr uint64_t kVectorBytes = 32;  // of a warp's access, at least, or it is no run of lanes
constexpr uint64_t kLineBytes = 64;
constexpr unsigned kFewRounds = 4;

constexpr const char* kMark = "tutti.round";

// What is accessed by lanes side by side.
struct RunAccess {
  llvm::Instruction* instruction;
  llvm::Value* address;  // a pointer or a number
  uint64_t bytes;
  bool writes;
};

std::optional<RunAccess> AsRunAccess(llvm::Instruction& instruction) {
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {  // of a part of the lanes
    const auto made = [&](unsigned address, const llvm::Type* type, bool writes) {
      return RunAccess{call, call->getArgOperand(address),
                       call->getDataLayout().getTypeStoreSize(const_cast<llvm::Type*>(type)), writes};
    };
    const llvm::Function* called = call->getCalledFunction();
    if (called == nullptr) return std::nullopt;
    if (called->getIntrinsicID() == llvm::Intrinsic::masked_load) return made(0, call->getType(), false);
    if (called->getIntrinsicID() == llvm::Intrinsic::masked_store)
      return made(1, call->getArgOperand(0)->getType(), true);
    if (!called->getName().starts_with("tutti_rare_store_part_")) return std::nullopt;
    return made(0, call->getArgOperand(2)->getType(), true);
  }
  if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) return std::nullopt;
  auto* pointer = llvm::getLoadStorePointerOperand(&instruction);
  llvm::Type* type = llvm::getLoadStoreType(&instruction);
  const uint64_t bytes = instruction.getDataLayout().getTypeStoreSize(type);
  if (!type->isVectorTy() || bytes < kVectorBytes) return std::nullopt;
  return RunAccess{&instruction, pointer, bytes, llvm::isa<llvm::StoreInst>(instruction)};
}

class Walks {
 public:
  explicit Walks(llvm::Function& warp)
      : warp_(warp),
        dominators_(warp),
        loops_(dominators_),
        assumptions_(warp),
        library_(no_library_),
        evolution_(warp, library_, assumptions_, dominators_, loops_) {
    if (loops_.empty()) return;
    for (llvm::Instruction& instruction : llvm::instructions(warp)) {
      if (const auto access = AsRunAccess(instruction)) Add(*access);
    }
  }

  // Of the loops in which warps are to take turns.
  llvm::SmallSetVector<llvm::BasicBlock*, 4> Headers() const {
    llvm::SmallSetVector<llvm::BasicBlock*, 4> headers;
    for (const Walk& walk : walks_) {
      if (walk.pays) headers.insert(walk.header);
    }
    return headers;
  }

  // Forgets what all warps access alike.
  void OnlyDifferent(const BlockValues& values) {
    llvm::erase_if(walks_, [&](const Walk& walk) { return values.IsShared(*walk.address_of); });
  }

  // Asks for what the next round accesses, unless another access asks for the same lines.
  void Prefetch() {
    const auto headers = Headers();
    llvm::SCEVExpander expander(evolution_, warp_.getDataLayout(), "step");
    for (const Walk& walk : walks_) {
      if (!headers.contains(walk.header) || IsAskedFor(walk)) continue;
      if (!expander.isSafeToExpandAt(walk.step, walk.access.instruction)) continue;
      llvm::IRBuilder<> builder(walk.access.instruction);
      llvm::Value* step =
          expander.expandCodeFor(walk.step, builder.getInt64Ty(), walk.access.instruction->getIterator());
      llvm::Value* now = walk.access.address;
      if (!now->getType()->isPointerTy()) now = builder.CreateIntToPtr(now, builder.getPtrTy());
      llvm::Value* next = builder.CreatePtrAdd(now, step);
      for (uint64_t at = 0; at < walk.access.bytes; at += kLineBytes) {
        llvm::Value* line = builder.CreatePtrAdd(next, builder.getInt64(at));
        builder.CreateIntrinsic(
            llvm::Intrinsic::prefetch, {line->getType()},
            {line, builder.getInt32(walk.access.writes ? 1 : 0), builder.getInt32(3), builder.getInt32(1)});
      }
      asked_.push_back(walk);
    }
  }

 private:
  struct Walk {
    RunAccess access;
    const llvm::Instruction* address_of;
    const llvm::SCEV *address, *step;  // of 64 bits
    llvm::BasicBlock* header;
    bool pays;  // to take turns for it
  };

  void Add(const RunAccess& access) {
    const auto* address_of = llvm::dyn_cast<llvm::Instruction>(access.address);
    if (address_of == nullptr) return;
    const llvm::SCEV* address = Address(access.address);
    for (llvm::Loop* loop = loops_.getLoopFor(access.instruction->getParent()); loop != nullptr;
         loop = loop->getParentLoop()) {
      llvm::SmallPtrSet<const llvm::SCEV*, 16> seen;
      const llvm::SCEV* step = StepOf(address, *loop, 1, seen);
      if (step == nullptr) continue;
      if (!IsFar(step)) return;
      const unsigned rounds = evolution_.getSmallConstantTripCount(loop);
      const bool pays = !access.writes && (rounds == 0 || rounds >= kFewRounds);
      walks_.push_back({access, address_of, address, step, loop->getHeader(), pays});
      return;
    }
  }

  // Addresses are numbers; what a pointer is made of ScalarEvolution does not ask.
  const llvm::SCEV* Address(llvm::Value* pointer) {
    auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer);
    return evolution_.getSCEV(cast != nullptr ? cast->getOperand(0) : pointer);
  }

  // How far `address`, times `scale`, goes in a round of `loop`, in 64 bits, as long as nothing wraps; null: nowhere.
  const llvm::SCEV* StepOf(const llvm::SCEV* address, const llvm::Loop& loop, uint64_t scale,
                           llvm::SmallPtrSetImpl<const llvm::SCEV*>& seen) {
    if (!seen.insert(address).second) return nullptr;
    if (const auto* sum = llvm::dyn_cast<llvm::SCEVAddRecExpr>(address); sum != nullptr && sum->getLoop() == &loop) {
      llvm::Type* i64 = llvm::Type::getInt64Ty(warp_.getContext());
      const llvm::SCEV* step = evolution_.getTruncateOrSignExtend(sum->getStepRecurrence(evolution_), i64);
      return evolution_.getMulExpr(step, evolution_.getConstant(i64, scale));
    }
    if (const auto* unknown = llvm::dyn_cast<llvm::SCEVUnknown>(address)) {
      auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(unknown->getValue());
      return cast == nullptr ? nullptr : StepOf(evolution_.getSCEV(cast->getOperand(0)), loop, scale, seen);
    }
    if (const auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(address)) {
      if (const auto* by = llvm::dyn_cast<llvm::SCEVConstant>(product->getOperand(0)))
        scale *= by->getAPInt().sextOrTrunc(64).getZExtValue();
    }
    for (const llvm::SCEV* part : address->operands()) {
      if (const llvm::SCEV* step = StepOf(part, loop, scale, seen)) return step;
    }
    return nullptr;
  }

  static bool IsFar(const llvm::SCEV* step) {
    const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step);
    return constant == nullptr || constant->getAPInt().abs().uge(kFarBytes);
  }

  bool IsAskedFor(const Walk& walk) {
    return llvm::any_of(asked_, [&](const Walk& other) {
      if (other.header != walk.header || !dominators_.dominates(other.access.instruction, walk.access.instruction))
        return false;
      const auto* apart = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(walk.address, other.address));
      return apart != nullptr && apart->getAPInt().abs().ult(kLineBytes);
    });
  }

  llvm::Function& warp_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::AssumptionCache assumptions_;
  const llvm::TargetLibraryInfoImpl no_library_;
  llvm::TargetLibraryInfo library_;
  llvm::ScalarEvolution evolution_;
  llvm::SmallVector<Walk, 16> walks_, asked_;
};

}  // namespace

bool HasColumnWalks(llvm::Function& warp) { return !Walks(warp).Headers().empty(); }

llvm::SmallVector<llvm::CallInst*, 8> MarkColumnWalks(llvm::Function& warp, uint32_t param_bytes) {
  Walks walks(warp);
  const auto headers = walks.Headers();
  llvm::SmallVector<llvm::CallInst*, 8> marks;
  if (headers.empty()) return marks;
  const auto mark = warp.getParent()->getOrInsertFunction(kMark, llvm::Type::getVoidTy(warp.getContext()));
  for (llvm::BasicBlock* header : headers)
    marks.push_back(llvm::IRBuilder<>(header, header->getFirstInsertionPt()).CreateCall(mark));
  walks.OnlyDifferent(BlockValues(warp, param_bytes, marks));
  const auto left = walks.Headers();
  llvm::erase_if(marks, [&](llvm::CallInst* made) {
    const bool stays = left.contains(made->getParent());
    if (!stays) made->eraseFromParent();
    return !stays;
  });
  walks.Prefetch();
  return marks;
}

bool IsMark(const llvm::CallInst& call) {
  const llvm::Function* called = call.getCalledFunction();
  return called != nullptr && called->getName() == kMark;
}

void EraseMarks(llvm::ArrayRef<llvm::CallInst*> marks) {
  for (llvm::CallInst* mark : marks) mark->eraseFromParent();
}

void EraseMark(llvm::Module& module) {
  if (llvm::Function* mark = module.getFunction(kMark)) mark->eraseFromParent();
}

}  // namespace tutti::compiler
