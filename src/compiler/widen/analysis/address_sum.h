// Addresses as sums: those that differ by a constant are of one base, at a distance that is known.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>

namespace tutti::compiler {

struct AddressSum {
  llvm::SmallVector<const llvm::Value*, 4> terms;  // in an order of their own
  uint64_t constant = 0;                           // in bytes

  bool IsParallelTo(const AddressSum& other) const { return terms == other.terms; }
  // In bytes. Of sums that are parallel.
  int64_t DistanceFrom(const AddressSum& other) const { return static_cast<int64_t>(constant - other.constant); }
};

// Sums of more than six levels are cut short: what is below is a term.
AddressSum AddressSumOf(const llvm::Value* pointer);

}  // namespace tutti::compiler
