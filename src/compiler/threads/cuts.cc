#include "compiler/threads/cuts.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "compiler/passes/live_values.h"
#include "compiler/runtime/thread_state.h"
#include "compiler/threads/program_order.h"
#include "compiler/threads/thread_emitter.h"
#include "compiler/widen/analysis/intrinsics.h"
#include "compiler/widen/warp/services.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest_runtime::ReduxKind;
using guest_runtime::ShuffleMode;
using guest_runtime::Stop;
using guest_runtime::ThreadState;
using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

ShuffleMode ShuffleModeOf(llvm::StringRef suffix) {
  return llvm::StringSwitch<ShuffleMode>(suffix.split('.').first)
      .Case("up", ShuffleMode::kUp)
      .Case("down", ShuffleMode::kDown)
      .Case("bfly", ShuffleMode::kBfly)
      .Default(ShuffleMode::kIdx);
}

ReduxKind ReduxKindOf(llvm::StringRef suffix) {
  return llvm::StringSwitch<ReduxKind>(suffix)
      .Case("add", ReduxKind::kAdd)
      .Case("min", ReduxKind::kMin)
      .Case("max", ReduxKind::kMax)
      .Case("umin", ReduxKind::kUmin)
      .Case("umax", ReduxKind::kUmax)
      .Case("and", ReduxKind::kAnd)
      .Case("or", ReduxKind::kOr)
      .Default(ReduxKind::kXor);
}

constexpr uint64_t kStateAlign = 16;

// i64: what a thread has written, or what it reads of it.
Value* Extended(llvm::IRBuilder<>& builder, Value* value) {
  return value->getType() == builder.getInt64Ty() ? value : builder.CreateZExt(value, builder.getInt64Ty());
}

}  // namespace

// What a thread that stops writes down.
struct Cuts::Request {
  Stop stop;
  uint32_t detail = 0;
  Value* members = nullptr;
  llvm::SmallVector<Value*, 3> arguments;
};

bool IsStop(Intrinsic kind) {
  switch (kind) {
    case Intrinsic::kActivemask:
    case Intrinsic::kShfl:
    case Intrinsic::kBallot:
    case Intrinsic::kMatchAny:
    case Intrinsic::kMatchAll:
    case Intrinsic::kRedux:
    case Intrinsic::kElect:
    case Intrinsic::kWarpBarrier:
    case Intrinsic::kBarrier:
    case Intrinsic::kBarrierReduce:
    case Intrinsic::kYield: return true;
    default: return false;
  }
}

bool IsStop(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && IsStop(ClassifyCall(*call).kind);
}

Cuts::Request Cuts::RequestOf(const llvm::CallInst& call) const {
  const IntrinsicCall intrinsic = ClassifyCall(call);
  const auto argument = [&](unsigned i) { return call.getArgOperand(i); };
  const auto of_members = [&](Stop stop, uint32_t detail = 0) {
    Request request{.stop = stop, .detail = detail, .members = argument(0), .arguments = {}};
    for (unsigned i = 1; i < call.arg_size(); ++i) request.arguments.push_back(argument(i));
    return request;
  };
  switch (intrinsic.kind) {
    case Intrinsic::kYield: return {.stop = Stop::kYield, .arguments = {}};
    case Intrinsic::kActivemask: return {.stop = Stop::kActiveMask, .arguments = {}};
    case Intrinsic::kBarrier: {
      const auto* wait = llvm::dyn_cast<llvm::ConstantInt>(argument(2));
      const auto mode = wait != nullptr && wait->isOne() ? wait_modes_.lookup(&call) : guest::BarrierMode::kArrive;
      return {.stop = Stop::kBarrier,
              .detail = static_cast<uint32_t>(mode),
              .members = argument(0),
              .arguments = {argument(1)}};
    }
    case Intrinsic::kBarrierReduce:
      return of_members(Stop::kBarrierReduce, intrinsic.suffix == "popc" ? 0 : intrinsic.suffix == "and" ? 1 : 2);
    case Intrinsic::kShfl: return of_members(Stop::kShuffle, static_cast<uint32_t>(ShuffleModeOf(intrinsic.suffix)));
    case Intrinsic::kBallot: return of_members(Stop::kBallot);
    case Intrinsic::kMatchAny: return of_members(Stop::kMatchAny);
    case Intrinsic::kMatchAll: return of_members(Stop::kMatchAll);
    case Intrinsic::kRedux: return of_members(Stop::kRedux, static_cast<uint32_t>(ReduxKindOf(intrinsic.suffix)));
    case Intrinsic::kElect: return of_members(Stop::kElect);
    default: return of_members(Stop::kWarpBarrier);
  }
}

void Cuts::Cut(llvm::ArrayRef<Instruction*> together, llvm::ArrayRef<Instruction*> writes) {
  llvm::SmallVector<llvm::CallInst*, 64> calls;
  for (Instruction& instruction : llvm::instructions(function_)) {
    if (IsStop(instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  // From the whole program, before anything of it is gone.
  for (const llvm::CallInst* call : calls) {
    if (ClassifyCall(*call).kind == Intrinsic::kBarrier) wait_modes_[call] = WaitModeOf(*call);
  }
  for (Instruction* instruction : together) CutBefore(*instruction, {.stop = Stop::kTogether, .arguments = {}});
  for (Instruction* instruction : writes) CutBeforeWrite(*instruction);
  for (llvm::CallInst* call : calls) {
    const Request request = RequestOf(*call);
    if (request.stop == Stop::kYield || request.stop == Stop::kBarrier || request.stop == Stop::kBarrierReduce)
      emitter_.state().flags |= guest::kYields;
    CutBefore(*call, request);
    UseResult(*call);
  }
}

void Cuts::CutBefore(Instruction& instruction, const Request& request) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  builder.SetInsertPoint(&instruction);
  emitter_.StoreThreadField(offsetof(ThreadState, stop), builder.getInt32(static_cast<uint32_t>(request.stop)));
  emitter_.StoreThreadField(offsetof(ThreadState, detail), builder.getInt32(request.detail));
  if (request.members != nullptr) emitter_.StoreThreadField(offsetof(ThreadState, members), request.members);
  for (size_t i = 0; i < request.arguments.size(); ++i)
    emitter_.StoreThreadField(offsetof(ThreadState, arguments) + 8 * i, Extended(builder, request.arguments[i]));
  if (IsOfMembers(request.stop))
    emitter_.StoreThreadField(offsetof(ThreadState, location), emitter_.Location(instruction));
  llvm::StoreInst* number = emitter_.StoreThreadField(offsetof(ThreadState, place), builder.getInt32(0));
  BasicBlock* before = instruction.getParent();
  BasicBlock* after = llvm::SplitBlock(before, &instruction);
  places_.push_back({before->getTerminator(), after, number});
}

// Until the block writes.
void Cuts::CutBeforeWrite(Instruction& instruction) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  builder.SetInsertPoint(&instruction);
  Value* writes = emitter_.BlockField(offsetof(guest::BlockState, writes), builder.getInt32Ty());
  Value* waits = builder.CreateICmpEQ(writes, builder.getInt32(0));
  CutBefore(*llvm::SplitBlockAndInsertIfThen(waits, &instruction, /*Unreachable=*/false),
            {.stop = Stop::kWrite, .arguments = {}});
  emitter_.state().flags |= guest::kYields;
}

void Cuts::UseResult(llvm::CallInst& call) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  builder.SetInsertPoint(&call);
  const auto field = [&](unsigned i, llvm::Type* type) -> Value* {
    const bool is_second = i != 0;
    llvm::Type* stored = is_second ? builder.getInt32Ty() : builder.getInt64Ty();
    Value* value =
        emitter_.ThreadField(is_second ? offsetof(ThreadState, second) : offsetof(ThreadState, result), stored);
    return type == stored ? value : builder.CreateTrunc(value, type);
  };
  if (auto* pair = llvm::dyn_cast<llvm::StructType>(call.getType())) {
    Value* fields[] = {field(0, pair->getElementType(0)), field(1, pair->getElementType(1))};
    for (llvm::User* user : llvm::make_early_inc_range(call.users())) {
      if (auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user)) {
        part->replaceAllUsesWith(fields[part->getIndices().front()]);
        part->eraseFromParent();
      }
    }
    if (!call.use_empty()) {
      Value* whole = builder.CreateInsertValue(llvm::PoisonValue::get(pair), fields[0], 0);
      call.replaceAllUsesWith(builder.CreateInsertValue(whole, fields[1], 1));
    }
  } else if (!call.use_empty()) {
    call.replaceAllUsesWith(field(0, call.getType()));
  }
  call.eraseFromParent();
}

uint64_t Cuts::Finish() {
  EndBlocks();
  Number();
  KeepLiveValues();
  PlaceVariables();
  Dispatch();
  return llvm::alignTo(state_bytes_, kStateAlign);
}

// A thread that comes to an end says so. So does one behind a service that does not return.
void Cuts::EndBlocks() {
  llvm::IRBuilder<>& builder = emitter_.builder();
  for (BasicBlock& block : function_) {
    Instruction* last = block.getTerminator();
    if (!llvm::isa<llvm::ReturnInst, llvm::UnreachableInst>(last)) continue;
    builder.SetInsertPoint(last);
    emitter_.StoreThreadField(offsetof(ThreadState, stop), builder.getInt32(static_cast<uint32_t>(Stop::kEnd)));
    builder.CreateRetVoid();
    last->eraseFromParent();
  }
}

// The lanes of the first of several places go on first.
void Cuts::Number() {
  llvm::DenseMap<const BasicBlock*, Place> by_block;
  for (const Place& place : places_) by_block[place.after] = place;
  places_.clear();
  for (BasicBlock* block : InOrder(function_)) {
    const auto found = by_block.find(block);
    if (found == by_block.end()) continue;
    places_.push_back(found->second);
    found->second.number->setOperand(0, emitter_.builder().getInt32(static_cast<uint32_t>(places_.size())));
  }
}

void Cuts::KeepLiveValues() {
  llvm::SmallVector<BasicBlock*, 64> blocks;
  for (const Place& place : places_) blocks.push_back(place.after);
  llvm::SmallSetVector<Instruction*, 32> live;
  const auto into = LiveInto(function_, blocks);
  for (BasicBlock* block : blocks) live.insert(into.find(block)->second.begin(), into.find(block)->second.end());
  for (Instruction* value : live) Keep(*value);
}

// In the frame. Blocks have no stop inside, so a block reads it once; the one that makes it need not.
void Cuts::Keep(Instruction& value) {
  llvm::IRBuilder<>& builder = emitter_.builder();
  const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
  const llvm::Align align = std::min(layout.getPrefTypeAlign(value.getType()), llvm::Align(kStateAlign));
  const uint64_t offset = llvm::alignTo(state_bytes_, align);
  state_bytes_ = offset + layout.getTypeAllocSize(value.getType());
  BasicBlock* const home = value.getParent();
  llvm::DenseMap<BasicBlock*, Value*> read;
  for (llvm::Use& use : llvm::make_early_inc_range(value.uses())) {
    auto* user = llvm::cast<Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    BasicBlock* block = phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
    if (block == home) continue;
    Value*& here = read[block];
    if (here == nullptr) {
      builder.SetInsertPoint(block, block->getFirstInsertionPt());
      here = emitter_.Kept(offset, value.getType(), align);
    }
    use.set(here);
  }
  builder.SetInsertPoint(
      home, llvm::isa<llvm::PHINode>(value) ? home->getFirstInsertionPt() : std::next(value.getIterator()));
  emitter_.Keep(offset, &value, align);
}

// Each use computes its address anew: LLVM's quick generator keeps nothing in registers from block to block.
void Cuts::PlaceVariables() {
  llvm::IRBuilder<>& builder = emitter_.builder();
  llvm::SmallVector<llvm::AllocaInst*, 8> variables;
  for (Instruction& instruction : llvm::instructions(function_)) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  }
  for (llvm::AllocaInst* variable : variables) {
    llvm::DenseMap<const BasicBlock*, Value*> at_end;  // what phis take: one value, by however many edges of a switch
    for (llvm::Use& use : llvm::make_early_inc_range(variable->uses())) {
      auto* user = llvm::cast<Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      Value* own = nullptr;
      Value*& address = phi != nullptr ? at_end[phi->getIncomingBlock(use)] : own;
      if (address == nullptr) {
        builder.SetInsertPoint(phi != nullptr ? phi->getIncomingBlock(use)->getTerminator() : user);
        address = builder.CreateIntToPtr(emitter_.LocalAddress(*variable), builder.getPtrTy());
      }
      use.set(address);
    }
    variable->eraseFromParent();
  }
}

// Where the function begins: at the place where the thread stopped.
void Cuts::Dispatch() {
  llvm::IRBuilder<>& builder = emitter_.builder();
  BasicBlock* first = &function_.getEntryBlock();
  builder.SetInsertPoint(BasicBlock::Create(function_.getContext(), "dispatch", &function_, first));
  Value* number = emitter_.ThreadField(offsetof(ThreadState, place), builder.getInt32Ty());
  llvm::SwitchInst* choice = builder.CreateSwitch(number, first, static_cast<unsigned>(places_.size()));
  for (size_t i = 0; i < places_.size(); ++i) {
    choice->addCase(builder.getInt32(static_cast<uint32_t>(i + 1)), places_[i].after);
    builder.SetInsertPoint(places_[i].stop);
    builder.CreateRetVoid();
    places_[i].stop->eraseFromParent();
  }
}

}  // namespace tutti::compiler
