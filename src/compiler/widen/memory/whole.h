// Volatile vectors: each lane's is a single move, whatever the shape of the addresses, for other threads may watch.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

namespace llvm {
class Type;
class Value;
}  // namespace llvm

namespace tutti::compiler {

class FunctionEmitter;

// The components, each <32 x element>, of a vector of type `type` at each active lane's address (<32 x i64>, checked).
llvm::SmallVector<llvm::Value*, 4> LoadWhole(FunctionEmitter& emitter, llvm::Type* type, llvm::Value* addresses);
void StoreWhole(FunctionEmitter& emitter, llvm::ArrayRef<llvm::Value*> components, llvm::Value* addresses);

}  // namespace tutti::compiler
