// Emits the warp's version of one function: walks the schedule and gives each block its mask, each instruction to the
// emitter of its family, and each edge its lanes.
//
// Masks are <32 x i1>. A condition may be poison in lanes that did not compute it, so masks are always narrowed by
// select(mask, condition, false), never by `and`.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/widen/analysis/local_frame.h"
#include "compiler/widen/analysis/path_facts.h"
#include "compiler/widen/analysis/row.h"
#include "compiler/widen/analysis/schedule.h"
#include "compiler/widen/analysis/shape_analysis.h"
#include "compiler/widen/analysis/span.h"
#include "compiler/widen/emit/abi.h"
#include "compiler/widen/emit/module_state.h"
#include "compiler/widen/emit/values.h"

namespace tutti::compiler {

class FunctionEmitter {
 public:
  // `wide` is an empty function: for the kernel void(WarpState*) or void(WarpState*, BlockState*), else with the
  // signature of calls.h.
  FunctionEmitter(llvm::Function& scalar, llvm::Function& wide, ModuleState& module, const ShapeAnalysis& shapes,
                  const Schedule& schedule);

  Status Emit();

  // For the emitters of instruction families (elementwise.h, memory.h, atomics.h, warp_ops.h, services.h, calls.h).
  llvm::IRBuilder<>& builder() { return builder_; }
  Values& values() { return values_; }
  Abi& abi() { return abi_; }
  Spans& spans() { return spans_; }
  const Rows& rows() const { return rows_; }
  PathFacts& facts() { return facts_; }
  ModuleState& module() { return module_; }
  const Shape& shape(const llvm::Value* value) const { return shapes_.Of(value); }
  const Schedule& schedule() const { return schedule_; }
  llvm::Function& scalar() { return scalar_; }
  bool is_kernel() const { return scalar_.getName() == "tutti.kernel"; }

  llvm::Value* mask() const { return mask_; }          // <32 x i1>: the lanes of this block
  llvm::Value* mask_bits();                            // i32
  bool is_full() const;                                // all 32, known now
  llvm::Value* RunsAll();                              // i1: all 32
  // Lanes of the warp that have not ended may not be in this block.
  bool OthersMayBeElsewhere() const { return OthersMayBeElsewhere(block_); }
  // True the first time in a block for each `members`: the caller then tests whether these lanes are here. Later in the
  // block they still are, or have ended.
  bool IsFirstMeetingOf(const llvm::Value* members) { return met_.insert(members).second; }
  llvm::Value* Masked(llvm::Value* condition, bool otherwise = false);  // condition in the active lanes
  llvm::Value* Bits(llvm::Value* lanes);  // <32 x i1> to i32
  llvm::Value* Lanes(llvm::Value* bits);  // i32 to <32 x i1>
  llvm::Value* LanesOfWord(llvm::Value* bits);  // the same of a word that comes from memory
  llvm::Value* FirstLane();  // lowest active lane, i32

  // i32: all lanes that entered the function.
  llvm::Value* EntryLanes() { return Bits(entry_mask_); }
  // A flag of the warp in this function: its lanes have switched to the apart copy (apart_copy.h).
  llvm::AllocaInst* IsApart();
  void SetApart();

  // Emits `body` on a cold branch taken if `condition` is false, and continues behind it.
  void Unless(llvm::Value* condition, llvm::function_ref<void()> body);
  // One of two values made on two paths; the second path is cold.
  llvm::Value* Choose(llvm::Value* condition, llvm::function_ref<llvm::Value*()> likely,
                      llvm::function_ref<llvm::Value*()> rare);
  // Emits `body(lane)` in a loop over the lanes of `bits` in ascending order.
  void ForEachLane(llvm::Value* bits, llvm::function_ref<void(llvm::Value*)> body);
  // The same for all 32, some of them in each round.
  void ForAllLanes(llvm::function_ref<void(llvm::Value*)> body);
  // Memory for a vector that a lane loop indexes.
  llvm::AllocaInst* LaneArray(llvm::Type* scalar);
  llvm::Value* LaneElement(llvm::Value* array, llvm::Type* scalar, llvm::Value* lane);  // its address

  void Define(const llvm::Instruction& instruction, llvm::ArrayRef<llvm::Value*> parts) {
    values_.Define(&instruction, parts);
  }
  // Index of the location of `instruction`, as i32.
  llvm::Value* Location(const llvm::Instruction& instruction);
  // i64: where a called function's part of each lane's local memory starts.
  llvm::Value* NextFrame();

  void Unsupported(const llvm::Instruction& instruction, const std::string& why);
  bool failed() const { return !status_.has_value(); }

 private:
  bool OthersMayBeElsewhere(unsigned block) const;
  bool AsksWhoHasEnded() const;
  void EmitBlock(unsigned block);
  void EmitInstruction(const llvm::Instruction& instruction);
  void EmitCall(const llvm::CallInst& call);
  void EmitPhis(const llvm::BasicBlock& block);
  void EmitTerminator(const llvm::Instruction& terminator);
  void EmitReturn(const llvm::ReturnInst& instruction);
  void EmitEdge(unsigned from, unsigned to, llvm::Value* lanes);
  void EmitNext(unsigned from, llvm::ArrayRef<unsigned> targets);
  void JumpTo(llvm::ArrayRef<unsigned> candidates);
  bool IsMetByMany(unsigned block) const;
  bool KeepsPendingInMemory(unsigned block) const { return schedule_.is_of_copy(block) || IsMetByMany(block); }
  llvm::Value* PendingBits(unsigned block);
  llvm::Value* Pending(unsigned block);
  void SetPending(unsigned block, llvm::Value* lanes);
  void SetPendingBits(unsigned block, llvm::Value* bits);
  void ReservePending(unsigned block);
  llvm::SmallVector<llvm::AllocaInst*, 2>& PhiSlots(const llvm::PHINode& phi);
  llvm::SmallVector<llvm::AllocaInst*, 2>& WarpVariable(const llvm::Value& alloca);
  void PrepareEntry();
  void ClearSlots();

  llvm::Function& scalar_;
  llvm::Function& wide_;
  ModuleState& module_;
  const ShapeAnalysis& shapes_;
  const Schedule& schedule_;
  llvm::BasicBlock* slots_block_;
  llvm::BasicBlock* prologue_;  // Abi's loads, nothing else
  llvm::BasicBlock* setup_first_ = nullptr;  // then masks and arguments
  llvm::BasicBlock* setup_last_ = nullptr;
  llvm::IRBuilder<> builder_;
  Abi abi_;
  Values values_;
  Status status_;

  std::vector<llvm::BasicBlock*> entries_;  // by block index
  std::vector<llvm::Value*> pending_;  // by block index: where its lanes are; null where all lanes run
  llvm::AllocaInst* pending_of_copy_ = nullptr;  // the copy's pending masks, as one array of bits that stays in memory
  std::map<std::vector<unsigned>, llvm::BasicBlock*> chains_;
  llvm::DenseMap<const llvm::PHINode*, llvm::SmallVector<llvm::AllocaInst*, 2>> phi_slots_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<llvm::AllocaInst*, 2>> warp_variables_;
  LocalFrame frame_;
  Spans spans_;
  Rows rows_;
  PathFacts facts_;
  llvm::Value* entry_mask_ = nullptr;
  llvm::Value* mask_ = nullptr;
  llvm::Value* mask_bits_ = nullptr;
  llvm::DenseMap<llvm::Value*, llvm::Value*> all_in_;  // by mask: what RunsAll() made
  llvm::AllocaInst* is_apart_ = nullptr;
  unsigned block_ = 0;
  llvm::SmallPtrSet<const llvm::Value*, 4> met_;  // in this block
  bool tells_exits_ = false;  // something needs to know which lanes have left the kernel
};

}  // namespace tutti::compiler
