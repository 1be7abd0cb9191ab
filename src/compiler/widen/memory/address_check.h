// The check of guest addresses ("software fault isolation"): the one place through which all accesses go.
//
// An access names the memory it may touch by its address space. Its check is one unsigned comparison of address - start
// of that memory with its size less the size of the access. Alignment is part of the same comparison: the difference is
// rotated right by the bits that must be zero (every memory starts at a multiple of 16), so that a set bit among them
// makes it too large. Where the compiler knows the distances between the lanes' addresses, one comparison covers all
// lanes, and all accesses through one base (span.h). If it fails, the guest runtime (runtime/address_check.cc) decides:
// it knows the other memories a generic address may lie in, and reports the first bad lane.
#pragma once

#include <llvm/IR/Instructions.h>

#include <cstdint>

#include "compiler/runtime/memories.h"
#include "compiler/widen/memory/indexed.h"

namespace tutti::compiler {

class FunctionEmitter;
class PathFacts;
struct Span;

// The memory that an access may touch.
struct Region {
  uint32_t spaces = guest_runtime::kWindow;  // all legal ones: bits of runtime/memories.h
  uint32_t likely = guest_runtime::kWindow;  // the one that is asked first
  llvm::Value* base = nullptr;  // i64 added to the address; null: none
  bool is_safe = false;  // proved in bounds and aligned
};

// For the access that `instruction` makes to `bytes` through `pointer`.
Region RegionOf(FunctionEmitter& emitter, const llvm::Instruction& instruction, const llvm::Value* pointer,
                uint64_t bytes);
// The same, where the instruction is of another function than the emitter's: `facts` are that function's.
Region RegionOf(FunctionEmitter& emitter, PathFacts& facts, const llvm::Instruction& instruction,
                const llvm::Value* pointer, uint64_t bytes);

// Restricts `region` for an access that writes.
void OnlyWritable(Region& region);

class AddressCheck {
 public:
  AddressCheck(FunctionEmitter& emitter, const Region& region, const llvm::Instruction& instruction);
  // Of an instruction that is no load or store: its addresses are multiples of 2^align_log2.
  AddressCheck(FunctionEmitter& emitter, const Region& region, const llvm::Instruction& instruction,
               unsigned align_log2);

  // True if nothing needs to be checked.
  bool is_off() const;
  // How the guest runtime is told what may be accessed, and where the access stands (runtime/legal_access.h).
  // `bytes`: at each of several addresses.
  uint32_t what(uint64_t bytes = 0) const;
  uint64_t place() const;
  // i1: [address, address + bytes) is in the likely memory, and the address is a multiple of 2^align_log2.
  llvm::Value* Covers(llvm::Value* address, uint64_t bytes, unsigned align_log2);
  // The same where `is_off`, too: of more than the active lanes access, which may lie outside.
  llvm::Value* Contains(llvm::Value* address, uint64_t bytes, unsigned align_log2);
  // i64: how many elements of `bytes`, 2^scale_log2 apart, lie in the likely memory from `base` on, all aligned; 0 if
  // `base` is not in it. The scale is at least the alignment. For all lanes if `base` is a vector.
  llvm::Value* ElementsFrom(llvm::Value* base, uint64_t bytes, uint64_t scale_log2);
  // i1: everything that the accesses of this access's span reach is in the likely memory, whichever lanes make them,
  // and no lane's index wraps. Null if the addresses are not in runs, or in more than `most_runs`. Call it only on the
  // path of all lanes.
  llvm::Value* SpanHolds(unsigned most_runs = 32);
  // Values::Assumption of the access's pointer, or null if that is implied by SpanHolds' answer, which may be null.
  llvm::Value* AssumptionBeside(const llvm::Value* span_holds, const llvm::Value* pointer);
  // The same of the active lanes, where the addresses are no runs; null if the span is of this access alone.
  llvm::Value* SpanHoldsForActive();
  // Continues only if the `bytes` at this scalar address are legal.
  void RequireScalar(llvm::Value* address, uint64_t bytes);
  // The same for one lane (i32), unless `holds`.
  void RequireOfLane(llvm::Value* holds, llvm::Value* lane, llvm::Value* address, uint64_t bytes);
  // The same for the runs' addresses of an access that has a span.
  void RequireScalars(llvm::ArrayRef<llvm::Value*> addresses, uint64_t bytes);
  // The same for the addresses of the active lanes.
  void RequireLanes(llvm::Value* addresses, uint64_t bytes);
  // The same; `addresses` makes the vector of them, for the cold path.
  void RequireIndexed(const IndexedAddress& indexed, uint64_t bytes, llvm::function_ref<llvm::Value*()> addresses);

 private:
  struct Range {
    llvm::Value* start;
    llvm::Value* size;
  };
  Range Likely();
  llvm::Value* Elements(llvm::Value* base, uint64_t bytes, uint64_t scale_log2, unsigned align_log2);
  llvm::Value* SpanHoldsByIndex(const Span& span, unsigned most_runs);
  llvm::Value* Limit(llvm::IRBuilder<>& builder, uint64_t bytes);
  llvm::Value* RotatedLimit(uint64_t bytes, unsigned align_log2);
  llvm::Value* Rotated(llvm::Value* difference, unsigned align_log2);
  void CheckScalar(llvm::Value* lane, llvm::Value* address, uint64_t bytes);
  void CheckLanes(llvm::Value* outside, uint64_t bytes, llvm::function_ref<llvm::Value*()> addresses);

  FunctionEmitter& emitter_;
  const Region& region_;
  const llvm::Instruction& instruction_;
  unsigned align_log2_;  // of the address
};

}  // namespace tutti::compiler
