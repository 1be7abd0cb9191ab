// One address check for all accesses of a block through one base: of p[0], p[1] and p[7] the span reaches from p[0] to
// the end of p[7]. If one of them executes all do, so the first checks the whole span and the others reuse its result.
// If the check fails, each access is checked by itself at its own place, so faults are reported as without spans.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace tutti::compiler {

struct Span {
  const llvm::Value* base = nullptr;  // the pointer of the first access
  int64_t low = 0, high = 0;          // from it on, in bytes
  unsigned align_log2 = 0;            // what base + low must be a multiple of for all accesses to be aligned
  bool writes = false;                // one of them is a store
  unsigned accesses = 1;
  llvm::Value* holds = nullptr;  // i1: all of it may be accessed, by any lane; made by the first access
  llvm::Value* holds_for_active = nullptr;  // the same, by the lanes of the block, where nothing is known of the lanes
};

class Spans {
 public:
  Spans(const llvm::Function& scalar, const llvm::DataLayout& layout);

  // Of a load or a store, else null.
  Span* Of(const llvm::Instruction& access) const { return spans_.lookup(&access); }

 private:
  struct Open;
  void Add(const llvm::Instruction& access, std::vector<Open>& open);

  const llvm::DataLayout& layout_;
  std::deque<Span> all_;
  llvm::DenseMap<const llvm::Instruction*, Span*> spans_;
};

// log2 of what the address of an access must be a multiple of.
unsigned AccessAlignLog2(const llvm::Instruction& access);

}  // namespace tutti::compiler
