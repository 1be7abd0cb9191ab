// Loads whose lanes lie close together, but not one after the other: every second word, the halves of words, a field of
// structs, a row backwards. All of the memory from the first of them to the last is loaded as vectors, and the lanes'
// elements are picked by shuffles; a gather would cost a multiple.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "compiler/widen/analysis/shape.h"

namespace llvm {
class Type;
class Value;
}  // namespace llvm

namespace tutti::compiler {

class FunctionEmitter;

// What the lanes of one run reach.
struct Stretch {
  int64_t low = 0;  // in bytes, from the run's base on
  unsigned elements = 0;
};

// One for each run. Empty: the lanes are too far apart, or some distance is no multiple of an element and of
// `multiple`, which all addresses have to be multiples of.
llvm::SmallVector<Stretch, 4> FindStretches(const Shape& address, unsigned components, uint64_t element_bytes,
                                            uint64_t multiple);

// The components, each <32 x element>. `addresses` (i64) are where the stretches begin; all of them may be read.
llvm::SmallVector<llvm::Value*, 4> LoadStretches(FunctionEmitter& emitter, const Shape& address,
                                                 llvm::ArrayRef<Stretch> stretches,
                                                 llvm::ArrayRef<llvm::Value*> addresses, llvm::Type* element,
                                                 unsigned components);

}  // namespace tutti::compiler
