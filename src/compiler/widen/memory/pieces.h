// Accesses in pieces: groups of lanes whose elements are contiguous in memory.
//
// An access of n components per lane (ld.v4.f32: n = 4) is in pieces of L lanes if within each group of L lanes each
// lane's address is n elements after its neighbour's. A piece is then n vectors of L elements in memory, split into
// components by shuffles. L is 32 for a contiguous access of the whole warp, 16 or 8 for rows of a tile.
//
// Where lanes are further apart, a lane's components of 8 or 16 bytes together are a piece of their own (L is 1): 32
// moves between memory and the vectors that a contiguous access would have.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include "compiler/widen/analysis/shape.h"

namespace tutti::compiler {

class FunctionEmitter;

struct Pieces {
  unsigned lanes = 0;       // of a piece; 0: the access is not in pieces
  unsigned components = 1;
  llvm::Type* element = nullptr;
  uint64_t element_bytes = 0;
  llvm::SmallVector<llvm::Value*, 4> addresses;  // i64, one for each piece
  bool is_readable = false;  // all that the pieces cover may be read: loads need no mask
  bool is_for_anyone = false;  // ... as a comparison says where they are accessed, whichever lanes are active, or none
  bool is_by_all = false;  // all lanes are active where the pieces are accessed: no mask is needed

  unsigned count() const { return kLanes / lanes; }
};

// Lanes of a piece for addresses of this shape, or 0.
unsigned PieceLanes(const Shape& address, unsigned components, uint64_t element_bytes);
// Pieces of one lane are possible: as stores they write for all lanes, as loads they read for all.
bool LanesCanBePieces(const Shape& address, unsigned components, uint64_t element_bytes);

// Components of each lane next to each other, <32 n x element>, and back.
llvm::Value* Interleave(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> components);
llvm::SmallVector<llvm::Value*, 4> Deinterleave(llvm::IRBuilder<>& builder, llvm::Value* interleaved, unsigned count);

// Says of a load that it may be made whichever lanes are active, or none (link/quiet_rounds.h): its address has been
// compared.
void MarkForAnyone(llvm::LoadInst& load);

// The components, each <32 x element>.
llvm::SmallVector<llvm::Value*, 4> LoadPieces(FunctionEmitter& emitter, const Pieces& pieces);
void StorePieces(FunctionEmitter& emitter, const Pieces& pieces, llvm::ArrayRef<llvm::Value*> components);

// `count` elements of the concatenation of vectors of equal length: element i is number index(i).
llvm::Value* Pick(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> vectors, unsigned count,
                  llvm::function_ref<unsigned(unsigned)> index);
// Of a power of two of vectors of equal length.
llvm::Value* Concatenated(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> vectors);

}  // namespace tutti::compiler
