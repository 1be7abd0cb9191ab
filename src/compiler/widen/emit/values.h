// Maps a function's values to those of the new code: scalars for bases of runs, vectors for what varies (shape.h).
//
// A value has `parts`: the bases of its runs in order, or, if it varies, one vector per component (the elements of a
// struct or of a small vector; 1 for a plain value). Pointers become i64.
//
// Where the new code may reach a use without having passed the definition, on another lane's path, the parts go through
// stack slots, which are promoted to SSA values afterwards; what a lane reads from them it has written.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/analysis/schedule.h"
#include "compiler/widen/analysis/shape_analysis.h"

namespace tutti::compiler {

class Values {
 public:
  // `prologue`: a block that runs before all others.
  Values(llvm::IRBuilder<>& builder, const ShapeAnalysis& shapes, const Schedule& schedule, llvm::BasicBlock* slots,
         const llvm::BasicBlock* prologue);

  // Types of the new code.
  static llvm::Type* Scalar(llvm::Type* type);  // i64 for pointers
  static unsigned ComponentCount(llvm::Type* type);
  static llvm::Type* Component(llvm::Type* type, unsigned i);  // scalar type of a component
  static llvm::FixedVectorType* Wide(llvm::Type* scalar);  // 32 of it
  static bool IsSupported(llvm::Type* type);

  void EnterBlock(unsigned block);
  // The parts of `value`, at the insertion point. Extensions that may wrap: see shape.h.
  void Define(const llvm::Value* value, llvm::ArrayRef<llvm::Value*> parts);
  bool IsDefined(const llvm::Value* value) const { return definitions_.contains(value); }
  // What the current block does not use itself, but only by what was computed from it: the definition of that reaches
  // the block, its own need not.
  bool IsAtHand(const llvm::Value* value) const;

  const Shape& shape(const llvm::Value* value) const { return shapes_.Of(value); }

  // Scalars. `run` is at most the shape's.
  llvm::Value* Base(const llvm::Value* value, unsigned run = kLanes, unsigned r = 0);
  llvm::Value* InRun(const llvm::Value* value, unsigned run = kLanes, unsigned r = 0);  // of a value constant over runs
  llvm::Value* Uniform(const llvm::Value* value) { return InRun(value); }

  // The exact vector of any value.
  llvm::Value* Vector(const llvm::Value* value, unsigned component = 0);

  // All assumptions under which the bases and offsets of `value` are its lanes' values; null if there are none.
  llvm::Value* Assumption(const llvm::Value* value);

  // During its lifetime nothing enters the cache: for code off the main path.
  class ColdScope {
   public:
    explicit ColdScope(Values& values) : values_(values), saved_(values.cache_) {}
    ~ColdScope() { values_.cache_ = std::move(saved_); }

   private:
    Values& values_;
    llvm::DenseMap<std::pair<const llvm::Value*, unsigned>, llvm::Value*> saved_;
  };

  // A vector with `offsets` as elements.
  static llvm::Constant* ConstantLanes(llvm::Type* integer, const Shape& shape, int64_t from = 0);
  llvm::AllocaInst* Slot(llvm::Type* type, const llvm::Twine& name = "");
  // Where all of them are made.
  llvm::BasicBlock& Slots() { return *slots_; }

 private:
  struct Definition {
    unsigned block = 0;
    llvm::SmallVector<llvm::Value*, 2> parts;
    llvm::SmallVector<llvm::AllocaInst*, 2> slots;  // empty: none needed
  };
  struct WrapState {  // always in slots: used by whatever derives from the extension
    llvm::AllocaInst* holds = nullptr;
    llvm::SmallVector<llvm::AllocaInst*, 2> narrow;
  };

  bool NeedsSlots(const llvm::Value* value, unsigned block) const;
  llvm::Value* Part(const llvm::Value* value, unsigned i);
  llvm::Value* ConstantPart(const llvm::Constant* constant, unsigned component);
  llvm::Value* FromBases(llvm::ArrayRef<llvm::Value*> bases, const Shape& shape, llvm::Type* type);
  void DefineWrap(const llvm::Instruction& extension);
  llvm::Value* WrapError(const llvm::Instruction& extension);

  llvm::IRBuilder<>& builder_;
  const ShapeAnalysis& shapes_;
  const Schedule& schedule_;
  llvm::BasicBlock* slots_;
  const llvm::BasicBlock* prologue_;
  unsigned block_ = 0;
  llvm::DenseMap<const llvm::Value*, Definition> definitions_;
  llvm::DenseMap<const llvm::Instruction*, WrapState> wraps_;
  llvm::DenseMap<std::pair<const llvm::Value*, unsigned>, llvm::Value*> cache_;  // vectors and slot loads of this block
};

}  // namespace tutti::compiler
