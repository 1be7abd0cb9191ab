#include "compiler/widen/warp/services.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

#include "compiler/widen/emit/function_emitter.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BarrierMode;
using guest::GuestServices;
using llvm::Value;

// The value is the same in all threads of the block, as far as a shallow look shows.
bool IsOfBlock(const Value* value, unsigned depth = 8) {
  if (llvm::isa<llvm::Constant>(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == 0) return false;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
    return ClassifyCall(*call).kind == Intrinsic::kBlockField;
  }
  if (!llvm::isa<llvm::CastInst, llvm::BinaryOperator, llvm::GetElementPtrInst>(instruction)) return false;
  return llvm::all_of(instruction->operands(),
                      [&](const llvm::Use& operand) { return IsOfBlock(operand.get(), depth - 1); });
}

// On some path behind this barrier all threads read one word of shared memory before any writes there.
bool AllReadOneWord(const llvm::CallInst& barrier) {
  constexpr size_t kMostBlocks = 16;
  constexpr unsigned kShared = 3;
  llvm::SmallSetVector<const llvm::BasicBlock*, kMostBlocks> blocks;
  const auto finds = [&](llvm::BasicBlock::const_iterator from, const llvm::BasicBlock& block) {
    for (const llvm::Instruction& instruction : llvm::make_range(from, block.end())) {
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        if (load->getPointerAddressSpace() == kShared && IsOfBlock(load->getPointerOperand())) return true;
      } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
        const Intrinsic kind = ClassifyCall(*call).kind;
        const bool is_known = kind != Intrinsic::kNone && kind != Intrinsic::kIndirectCall;
        if (IsBarrier(kind) || (!is_known && !llvm::isa<llvm::IntrinsicInst>(call))) return false;
      } else if (instruction.mayWriteToMemory()) {
        const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store == nullptr || store->getPointerAddressSpace() == kShared) return false;
      }
    }
    for (const llvm::BasicBlock* to : llvm::successors(&block)) {
      if (blocks.size() < kMostBlocks) blocks.insert(to);
    }
    return false;
  };
  if (finds(std::next(barrier.getIterator()), *barrier.getParent())) return true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (finds(blocks[i]->begin(), *blocks[i])) return true;
  }
  return false;
}

class Service {
 public:
  Service(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic)
      : emitter_(emitter), builder_(emitter.builder()), call_(call), intrinsic_(intrinsic) {}

  bool Emit() {
    llvm::Type *none = builder_.getVoidTy(), *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
    Abi& abi = emitter_.abi();
    Value* warp = abi.warp();
    switch (intrinsic_.kind) {
      case Intrinsic::kBarrier:
        Flag(guest::kYields);
        Barrier();
        return true;
      case Intrinsic::kBarrierEnter:
        Flag(guest::kYields);
        BarrierEnter();
        return true;
      case Intrinsic::kBarrierPass:
        Flag(guest::kYields);
        BarrierPass();
        return true;
      case Intrinsic::kBarrierOutcome:
        PerLane(1, [&](Value*, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, barrier_outcome), i32,
                                 {warp, arguments[0], ReductionKind()});
        });
        return true;
      case Intrinsic::kClusterBarrier:
        Flag(guest::kYields);
        abi.CallService(builder_, offsetof(GuestServices, cluster_barrier), none,
                        {warp, emitter_.mask_bits(), Mode(IsTrue(0) ? BarrierMode::kWait : BarrierMode::kArrive)});
        return true;
      case Intrinsic::kWarpGroupBarrier:
        Flag(guest::kYields);
        abi.CallService(builder_, offsetof(GuestServices, warp_group_barrier), none, {warp, emitter_.mask_bits()});
        return true;
      case Intrinsic::kBarrierReduce:
        Flag(guest::kYields);
        BarrierReduce();
        return true;
      case Intrinsic::kGridBarrier:
        Flag(guest::kYields | guest::kCooperative);
        abi.CallService(builder_, offsetof(GuestServices, grid_barrier), none, {warp, emitter_.mask_bits()});
        return true;
      case Intrinsic::kYield:
        Flag(guest::kYields);
        abi.CallService(builder_, offsetof(GuestServices, yield), none, {warp});
        return true;
      case Intrinsic::kClock:
        emitter_.Define(call_, {abi.CallService(builder_, offsetof(GuestServices, clock), i64, {warp})});
        return true;
      case Intrinsic::kGlobaltimer:
        emitter_.Define(call_, {abi.CallService(builder_, offsetof(GuestServices, global_timer), i64, {warp})});
        return true;
      case Intrinsic::kFence:
        // A block runs on one thread: between its lanes only the compiler can reorder.
        builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                             IsBlockScope() ? llvm::SyncScope::SingleThread : llvm::SyncScope::System);
        return true;
      case Intrinsic::kTrap: EmitTrap(emitter_, call_, Common(0)); return true;
      case Intrinsic::kPrint:
        Flag(guest::kUsesPrint);
        PerLane(2, [&](Value* lane, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, print), i32,
                                 {warp, lane, arguments[0], arguments[1]});
        });
        return true;
      case Intrinsic::kMalloc:
        Flag(guest::kUsesHeap);
        PerLane(1, [&](Value*, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, allocate), i64, {warp, arguments[0]});
        });
        return true;
      case Intrinsic::kFree:
        Flag(guest::kUsesHeap);
        PerLane(1, [&](Value*, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, release), none, {warp, arguments[0]});
        });
        return true;
      case Intrinsic::kSetCondition:
        PerLane(2, [&](Value* lane, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, set_condition), none,
                                 {warp, lane, arguments[0], arguments[1], emitter_.Location(call_)});
        });
        return true;
      case Intrinsic::kDeviceRuntime:
        PerLane(2, [&](Value* lane, llvm::ArrayRef<Value*> arguments) {
          return abi.CallService(builder_, offsetof(GuestServices, device_runtime), i64,
                                 {warp, lane, arguments[0], arguments[1]});
        });
        return true;
      case Intrinsic::kAssertFail: {
        Value* lane = emitter_.FirstLane();
        const auto own = [&](unsigned i) {
          return builder_.CreateExtractElement(emitter_.values().Vector(call_.getArgOperand(i)), lane);
        };
        abi.CallService(builder_, offsetof(GuestServices, assert_fail), none,
                        {warp, lane, own(0), own(1), own(2), own(3), emitter_.Location(call_)});
        return true;
      }
      default: return Runtime();
    }
  }

 private:
  void Flag(uint32_t flags) { emitter_.module().flags |= flags; }

  // An argument that is uniform, or else the lowest lane's.
  Value* Common(unsigned i) {
    const Value* argument = call_.getArgOperand(i);
    if (emitter_.shape(argument).is_uniform()) return emitter_.values().Uniform(argument);
    return builder_.CreateExtractElement(emitter_.values().Vector(argument), emitter_.FirstLane());
  }

  bool IsBlockScope() const {
    const auto* scope = llvm::dyn_cast<llvm::ConstantInt>(call_.getArgOperand(0));
    return scope != nullptr && scope->isZero();
  }

  bool IsUniform(unsigned i) const { return emitter_.shape(call_.getArgOperand(i)).is_uniform(); }
  bool IsTrue(unsigned i) const {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call_.getArgOperand(i));
    return constant != nullptr && constant->isOne();
  }
  Value* Mode(BarrierMode mode) { return builder_.getInt32(static_cast<uint32_t>(mode)); }

  void Barrier() {
    const auto arrive = [&](Value* lanes, Value* id, Value* threads, BarrierMode mode) {
      llvm::CallInst* call =
          emitter_.abi().CallService(builder_, offsetof(GuestServices, barrier), builder_.getVoidTy(),
                                     {emitter_.abi().warp(), lanes, id, threads, Mode(mode)});
      // Copies of it on the ways to it would be barriers that only some warps reach (link/block_values.h).
      call->setConvergent();
    };
    const bool waits = IsTrue(2);
    if (IsUniform(0) && IsUniform(1)) {
      const BarrierMode wait = WaitModeOf(call_);
      // Lanes arrived here one after the other and are all here: as good as if they had never diverged.
      Value* lanes =
          call_.hasMetadata("tutti.whole_warp") && emitter_.is_kernel() ? emitter_.EntryLanes() : emitter_.mask_bits();
      return arrive(lanes, Common(0), Common(1), waits ? wait : BarrierMode::kArrive);
    }
    // Lanes that name different barriers arrive at all of them before they wait for any.
    PerBarrier([&](Value* lanes, Value* id, Value* threads) { arrive(lanes, id, threads, BarrierMode::kArrive); });
    if (!waits) return;
    PerBarrier([&](Value* lanes, Value* id, Value* threads) { arrive(lanes, id, threads, BarrierMode::kWait); });
  }

  // Emits `body` in a loop over the different barriers that lanes name, each with its lanes.
  void PerBarrier(llvm::function_ref<void(Value*, Value*, Value*)> body) {
    Value* ids = emitter_.values().Vector(call_.getArgOperand(0));
    Value* counts = emitter_.values().Vector(call_.getArgOperand(1));
    llvm::AllocaInst* rest = emitter_.values().Slot(builder_.getInt32Ty());
    builder_.CreateStore(emitter_.mask_bits(), rest);
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    auto* round = llvm::BasicBlock::Create(builder_.getContext(), "barriers", function);
    auto* done = llvm::BasicBlock::Create(builder_.getContext(), "", function);
    builder_.CreateBr(round);
    builder_.SetInsertPoint(round);
    Value* lanes = builder_.CreateLoad(builder_.getInt32Ty(), rest);
    Value* first =
        builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {builder_.getInt32Ty()}, {lanes, builder_.getTrue()});
    Value* id = builder_.CreateExtractElement(ids, first);
    Value* count = builder_.CreateExtractElement(counts, first);
    const auto equal = [&](Value* all, Value* one) {
      return emitter_.Bits(builder_.CreateICmpEQ(all, builder_.CreateVectorSplat(kLanes, one)));
    };
    Value* group = builder_.CreateAnd(lanes, builder_.CreateAnd(equal(ids, id), equal(counts, count)));
    body(group, id, count);
    Value* left = builder_.CreateAnd(lanes, builder_.CreateNot(group));
    builder_.CreateStore(left, rest);
    builder_.CreateCondBr(builder_.CreateICmpEQ(left, builder_.getInt32(0)), done, round);
    builder_.SetInsertPoint(done);
  }

  // The phases in which lanes arrive, possibly of different barriers.
  void BarrierEnter() {
    llvm::Type* wide = Values::Wide(builder_.getInt32Ty());
    Value* votes = emitter_.Bits(emitter_.Masked(emitter_.values().Vector(call_.getArgOperand(2))));
    llvm::AllocaInst* phases = emitter_.values().Slot(wide);
    builder_.CreateStore(llvm::Constant::getNullValue(wide), phases);
    PerBarrier([&](Value* lanes, Value* id, Value* threads) {
      Value* phase = emitter_.abi().CallService(builder_, offsetof(GuestServices, barrier_enter), builder_.getInt32Ty(),
                                                {emitter_.abi().warp(), lanes, id, threads, votes});
      Value* all = builder_.CreateVectorSplat(kLanes, phase);
      builder_.CreateStore(builder_.CreateSelect(emitter_.Lanes(lanes), all, builder_.CreateLoad(wide, phases)),
                           phases);
    });
    emitter_.Define(call_, {builder_.CreateLoad(wide, phases)});
  }

  void BarrierPass() {
    llvm::AllocaInst* arrays[2];
    for (unsigned i = 0; i < 2; ++i) {
      arrays[i] = emitter_.LaneArray(builder_.getInt32Ty());
      builder_.CreateStore(emitter_.values().Vector(call_.getArgOperand(i)), arrays[i]);
    }
    Value* blocks = builder_.CreateZExt(emitter_.values().Uniform(call_.getArgOperand(2)), builder_.getInt32Ty());
    Value* passed =
        emitter_.abi().CallService(builder_, offsetof(GuestServices, barrier_pass), builder_.getInt32Ty(),
                                   {emitter_.abi().warp(), emitter_.mask_bits(), arrays[0], arrays[1], blocks});
    emitter_.Define(call_, {emitter_.Lanes(passed)});
  }

  Value* ReductionKind() {
    return builder_.getInt32(intrinsic_.suffix == "popc" ? 0 : intrinsic_.suffix == "and" ? 1 : 2);
  }

  void RequireOneBarrier() {
    for (unsigned i = 0; i < 2; ++i) {
      if (IsUniform(i)) continue;
      Value* all = emitter_.values().Vector(call_.getArgOperand(i));
      Value* differ = builder_.CreateICmpNE(all, builder_.CreateVectorSplat(kLanes, Common(i)));
      EmitMistake(emitter_, call_, guest::WarpMistake::kBarrierNumbers, emitter_.Bits(emitter_.Masked(differ)));
    }
  }

  void BarrierReduce() {
    RequireOneBarrier();
    llvm::Type* i32 = builder_.getInt32Ty();
    Value* votes = emitter_.Bits(emitter_.Masked(emitter_.values().Vector(call_.getArgOperand(2))));
    emitter_.Define(call_, {emitter_.abi().CallService(builder_, offsetof(GuestServices, barrier_reduce), i32,
                                                       {emitter_.abi().warp(), emitter_.mask_bits(), Common(0),
                                                        Common(1), ReductionKind(), votes})});
  }

  // A call for each active lane, in ascending order.
  void PerLane(unsigned count, llvm::function_ref<Value*(Value*, llvm::ArrayRef<Value*>)> body) {
    llvm::SmallVector<llvm::AllocaInst*, 2> arrays;
    for (unsigned i = 0; i < count; ++i) {
      Value* argument = emitter_.values().Vector(call_.getArgOperand(i));
      arrays.push_back(emitter_.LaneArray(argument->getType()->getScalarType()));
      builder_.CreateStore(argument, arrays.back());
    }
    const bool has_result = !call_.getType()->isVoidTy();
    llvm::AllocaInst* results = nullptr;
    if (has_result) {
      results = emitter_.LaneArray(call_.getType());
      builder_.CreateStore(llvm::Constant::getNullValue(Values::Wide(call_.getType())), results);
    }
    emitter_.ForEachLane(emitter_.mask_bits(), [&](Value* lane) {
      llvm::SmallVector<Value*, 2> arguments;
      for (llvm::AllocaInst* array : arrays) {
        llvm::Type* type = llvm::cast<llvm::ArrayType>(array->getAllocatedType())->getElementType();
        arguments.push_back(builder_.CreateLoad(type, emitter_.LaneElement(array, type, lane)));
      }
      Value* result = body(lane, arguments);
      if (has_result) builder_.CreateStore(result, emitter_.LaneElement(results, call_.getType(), lane));
    });
    if (has_result) emitter_.Define(call_, {builder_.CreateLoad(Values::Wide(call_.getType()), results)});
  }

  // Functions that the guest runtime implements on vectors.
  bool Runtime() {
    if (intrinsic_.kind != Intrinsic::kFunction && intrinsic_.kind != Intrinsic::kMatrix) return false;
    const bool elementwise = intrinsic_.kind == Intrinsic::kFunction;
    std::string name = (elementwise ? "tutti_v_" : "tutti_mma_") + intrinsic_.suffix.str();
    std::ranges::replace(name, '.', '_');
    llvm::SmallVector<Value*, 8> arguments;
    llvm::SmallVector<llvm::Type*, 8> types;
    for (const Value* argument : call_.args()) {
      for (unsigned c = 0; c < Values::ComponentCount(argument->getType()); ++c) {
        arguments.push_back(emitter_.values().Vector(argument, c));
        types.push_back(arguments.back()->getType());
      }
    }
    llvm::Type* result;
    const unsigned count = Values::ComponentCount(call_.getType());
    llvm::SmallVector<llvm::Type*, 8> members;
    for (unsigned c = 0; c < count; ++c) members.push_back(Values::Wide(Values::Component(call_.getType(), c)));
    result = call_.getType()->isVoidTy() ? builder_.getVoidTy()
             : count == 1                ? members[0]
                                         : llvm::StructType::get(builder_.getContext(), members);
    llvm::FunctionCallee callee = emitter_.module().Runtime(name, result, types);
    if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee()); function != nullptr && elementwise) {
      function->setMemoryEffects(llvm::MemoryEffects::none());
      function->setWillReturn();
    }
    Value* value = builder_.CreateCall(callee, arguments);
    if (call_.getType()->isVoidTy()) return true;
    if (emitter_.shape(&call_).is_uniform()) {
      emitter_.Define(call_, {builder_.CreateExtractElement(value, uint64_t{0})});
      return true;
    }
    llvm::SmallVector<Value*, 8> components;
    for (unsigned c = 0; c < count; ++c)
      components.push_back(count == 1 ? value : builder_.CreateExtractValue(value, c));
    emitter_.Define(call_, components);
    return true;
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const llvm::CallInst& call_;
  const IntrinsicCall& intrinsic_;
};

}  // namespace

bool EmitService(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  return Service(emitter, call, intrinsic).Emit();
}

void EmitMistake(FunctionEmitter& emitter, const llvm::CallInst& call, guest::WarpMistake what, Value* lanes) {
  llvm::IRBuilder<>& builder = emitter.builder();
  emitter.Unless(builder.CreateICmpEQ(lanes, builder.getInt32(0)), [&] {
    emitter.abi().CallService(builder, offsetof(GuestServices, mistake), builder.getVoidTy(),
                              {emitter.abi().warp(), builder.getInt32(static_cast<uint32_t>(what)), emitter.FirstLane(),
                               lanes, emitter.Location(call)});
  });
}

BarrierMode WaitModeOf(const llvm::CallInst& barrier) {
  return AllReadOneWord(barrier) ? BarrierMode::kArriveAndWaitDown : BarrierMode::kArriveAndWait;
}

void EmitTrap(FunctionEmitter& emitter, const llvm::Instruction& instruction, Value* kind) {
  llvm::IRBuilder<>& builder = emitter.builder();
  emitter.abi().CallService(
      builder, offsetof(GuestServices, fault), builder.getVoidTy(),
      {emitter.abi().warp(), kind, emitter.FirstLane(), builder.getInt64(0), emitter.Location(instruction)});
}

}  // namespace tutti::compiler
