#include "compiler/widen/warp/warp_ops.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/warp/reduction.h"
#include "compiler/widen/warp/services.h"
#include "compiler/widen/warp/shuffle.h"
#include "compiler/widen/warp/special_registers.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using llvm::Value;
using Op = llvm::AtomicRMWInst::BinOp;

class WarpOperation {
 public:
  WarpOperation(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic)
      : emitter_(emitter), builder_(emitter.builder()), values_(emitter.values()), call_(call), intrinsic_(intrinsic) {}

  bool Emit() {
    if (IsMeetingOfMembers(intrinsic_.kind)) RequireMembers();
    switch (intrinsic_.kind) {
      case Intrinsic::kActivemask: emitter_.Define(call_, {emitter_.mask_bits()}); return true;
      case Intrinsic::kShfl: EmitShuffle(emitter_, call_, intrinsic_.suffix); return true;
      case Intrinsic::kBallot: Ballot(); return true;
      case Intrinsic::kMatchAny: MatchAny(); return true;
      case Intrinsic::kMatchAll: MatchAll(); return true;
      case Intrinsic::kRedux: Redux(); return true;
      case Intrinsic::kElect: Elect(); return true;
      case Intrinsic::kWarpBarrier:
        // The lanes are in lockstep; what other lanes stored must be loaded anew.
        builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
        return true;
      case Intrinsic::kTurn: Turn(); return true;
      case Intrinsic::kAbsent: {
        const bool may_be = emitter_.OthersMayBeElsewhere();
        Value* absent = may_be ? builder_.CreateICmpNE(Absent(), builder_.getInt32(0)) : builder_.getFalse();
        emitter_.Define(call_, {absent});
        return true;
      }
      case Intrinsic::kSetApart: emitter_.SetApart(); return true;
      case Intrinsic::kIsApart:
        emitter_.Define(call_, {builder_.CreateLoad(builder_.getInt1Ty(), emitter_.IsApart())});
        return true;
      case Intrinsic::kEndLane:
        emitter_.module().flags |= guest::kEndsLanes;
        builder_.CreateStore(builder_.CreateAnd(Alive(), builder_.CreateNot(emitter_.mask_bits())),
                             emitter_.abi().LanesAddress(builder_));
        return true;
      case Intrinsic::kHasEnded:
        emitter_.Define(call_, {emitter_.LanesOfWord(builder_.CreateNot(Alive()))});
        return true;
      default: return EmitSpecialRegister(emitter_, call_, intrinsic_);
    }
  }

 private:
  const Value* members() const { return call_.getArgOperand(0); }
  bool has_one_group() const { return emitter_.shape(members()).is_uniform(); }
  // The lanes of the warp that have not ended.
  Value* Alive() { return builder_.CreateLoad(builder_.getInt32Ty(), emitter_.abi().LanesAddress(builder_)); }
  Value* MembersHere() { return builder_.CreateAnd(values_.Uniform(members()), emitter_.mask_bits()); }

  guest::WarpMistake Mistake() const {
    switch (intrinsic_.kind) {
      case Intrinsic::kShfl: return guest::WarpMistake::kShuffle;
      case Intrinsic::kBallot: return guest::WarpMistake::kVote;
      case Intrinsic::kRedux: return guest::WarpMistake::kRedux;
      case Intrinsic::kElect: return guest::WarpMistake::kElect;
      case Intrinsic::kWarpBarrier: return guest::WarpMistake::kWarpBarrier;
      default: return guest::WarpMistake::kMatch;
    }
  }

  // Faults unless every named lane is here or has ended. Diverged lanes could only arrive too late.
  void RequireMembers() {
    if (!emitter_.OthersMayBeElsewhere()) return;
    if (AreMembersHere(call_) || !emitter_.IsFirstMeetingOf(members())) return;
    EmitMistake(emitter_, call_, Mistake(), Absent());
  }

  // The lanes that the first argument names, and that neither are here nor have ended.
  Value* Absent() {
    Value* named;
    if (has_one_group()) {
      named = values_.Uniform(members());
    } else {
      Value* here = builder_.CreateSelect(emitter_.mask(), values_.Vector(members()),
                                          llvm::Constant::getNullValue(Values::Wide(builder_.getInt32Ty())));
      named = builder_.CreateOrReduce(here);
    }
    return builder_.CreateAnd(builder_.CreateAnd(named, Alive()), builder_.CreateNot(emitter_.mask_bits()));
  }

  void Ballot() {
    Value* votes = emitter_.Bits(emitter_.Masked(values_.Vector(call_.getArgOperand(1))));
    if (has_one_group()) return emitter_.Define(call_, {builder_.CreateAnd(votes, values_.Uniform(members()))});
    emitter_.Define(call_, {builder_.CreateAnd(builder_.CreateVectorSplat(kLanes, votes), values_.Vector(members()))});
  }

  llvm::StringRef TypeSuffix() const { return intrinsic_.suffix; }

  void MatchAny() {
    Value* value = values_.Vector(call_.getArgOperand(1));
    llvm::Type* i32 = builder_.getInt32Ty();
    auto function =
        emitter_.module().Runtime("tutti_match_any_" + TypeSuffix().str(), Values::Wide(i32), {i32, value->getType()});
    emitter_.Define(call_, {builder_.CreateAnd(builder_.CreateCall(function, {emitter_.mask_bits(), value}),
                                               values_.Vector(members()))});
  }

  void MatchAll() {
    Value* value = values_.Vector(call_.getArgOperand(1));
    llvm::Type* i32 = builder_.getInt32Ty();
    auto function = emitter_.module().Runtime("tutti_match_all_" + TypeSuffix().str(), i32, {i32, value->getType()});
    const auto match = [&](Value* group) { return builder_.CreateCall(function, {group, value}); };
    if (has_one_group()) {
      Value* equal = match(MembersHere());
      Value* both = llvm::PoisonValue::get(call_.getType());
      both = builder_.CreateInsertValue(both, equal, 0);
      return emitter_.Define(call_,
                             {builder_.CreateInsertValue(both, builder_.CreateICmpNE(equal, builder_.getInt32(0)), 1)});
    }
    Value* equal = PerGroup(match);
    emitter_.Define(call_, {equal, builder_.CreateICmpNE(equal, llvm::Constant::getNullValue(equal->getType()))});
  }

  void Redux() {
    const Op op = llvm::StringSwitch<Op>(intrinsic_.suffix)
                      .Case("add", Op::Add)
                      .Case("min", Op::Min)
                      .Case("max", Op::Max)
                      .Case("umin", Op::UMin)
                      .Case("umax", Op::UMax)
                      .Case("and", Op::And)
                      .Case("or", Op::Or)
                      .Case("xor", Op::Xor)
                      .Default(Op::BAD_BINOP);
    if (op == Op::BAD_BINOP) return emitter_.Unsupported(call_, "the reduction is not known");
    Value* value = values_.Vector(call_.getArgOperand(1));
    const auto reduce = [&](Value* group) { return Reduce(emitter_, op, value, emitter_.Lanes(group)); };
    emitter_.Define(call_, {has_one_group() ? reduce(MembersHere()) : PerGroup(reduce)});
  }

  void Elect() {
    llvm::Type* wide = Values::Wide(builder_.getInt32Ty());
    Value* here =
        builder_.CreateAnd(values_.Vector(members()), builder_.CreateVectorSplat(kLanes, emitter_.mask_bits()));
    Value* first = builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {wide}, {here, builder_.getFalse()});
    emitter_.Define(call_, {builder_.CreateICmpEQ(first, LaneNumbers(builder_))});
  }

  void Turn() {
    Value* places = values_.Vector(call_.getArgOperand(0));
    Value* named = values_.Vector(call_.getArgOperand(1));
    llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    auto function =
        emitter_.module().Runtime("tutti_turn", i64, {places->getType(), named->getType(), i32, i32, i64, i32, i32});
    Value *before = values_.Uniform(call_.getArgOperand(2)), *waiting = values_.Uniform(call_.getArgOperand(3));
    Value* parts = builder_.CreateZExt(values_.Uniform(call_.getArgOperand(4)), i32);
    emitter_.Define(
        call_, {builder_.CreateCall(function, {places, named, emitter_.mask_bits(), Alive(), before, waiting, parts})});
  }

  // Lanes that name different members are separate groups: gives each lane its group's `of_group(lanes)`.
  Value* PerGroup(llvm::function_ref<Value*(Value*)> of_group) {
    llvm::Type* i32 = builder_.getInt32Ty();
    Value* named = values_.Vector(members());
    llvm::AllocaInst* result = values_.Slot(Values::Wide(i32));
    builder_.CreateStore(llvm::Constant::getNullValue(Values::Wide(i32)), result);
    emitter_.ForEachLane(emitter_.mask_bits(), [&](Value* lane) {
      // A group is recomputed by each lane that finds it; groups are few.
      Value* group = builder_.CreateAnd(builder_.CreateExtractElement(named, lane), emitter_.mask_bits());
      Value* value = builder_.CreateVectorSplat(kLanes, of_group(group));
      Value* own = builder_.CreateSelect(emitter_.Lanes(group), value, builder_.CreateLoad(value->getType(), result));
      builder_.CreateStore(own, result);
    });
    return builder_.CreateLoad(Values::Wide(i32), result);
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  Values& values_;
  const llvm::CallInst& call_;
  const IntrinsicCall& intrinsic_;
};

}  // namespace

bool EmitWarpOperation(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  return WarpOperation(emitter, call, intrinsic).Emit();
}

}  // namespace tutti::compiler
