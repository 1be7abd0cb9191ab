// Addresses of the form base + scale * index, with one base for all lanes and a 32-bit index per lane: table[i].
//
// Gathers with such addresses cost half of those with 64-bit ones, and the check of the whole warp compares the indices
// with two scalars.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace tutti::compiler {

class FunctionEmitter;

struct IndexedAddress {
  llvm::Value* base = nullptr;  // i64
  llvm::Value* index = nullptr;  // <32 x i32>, signed
  unsigned scale_log2 = 0;
};

// Decomposes `pointer`, if it is of this form.
std::optional<IndexedAddress> FindIndexedAddress(FunctionEmitter& emitter, const llvm::Value* pointer);
// Lane 0's as the base, where the lanes are at distances from it that are known now.
std::optional<IndexedAddress> FindConstantDistances(FunctionEmitter& emitter, const llvm::Value* pointer);

// The same with a base that is known when the block begins, of lanes in runs: p[i] of a parameter p, where lanes have
// consecutive i.
struct TableAddress {
  llvm::SmallVector<std::pair<const llvm::Value*, unsigned>, 4> terms;  // of the base: value * 2^second
  uint64_t constant = 0;  // of the terms those that are
  const llvm::Instruction* extension = nullptr;  // of the index, of 32 bits
  unsigned scale_log2 = 0;
};

std::optional<TableAddress> FindTableAddress(FunctionEmitter& emitter, const llvm::Value* pointer);

// <32 x i1>: the lane's address is outside of the `limit` addresses from `start` on, or no multiple of 2^align_log2.
llvm::Value* IsOutside(llvm::IRBuilder<>& builder, const IndexedAddress& address, llvm::Value* start,
                       llvm::Value* limit, unsigned align_log2);

}  // namespace tutti::compiler
