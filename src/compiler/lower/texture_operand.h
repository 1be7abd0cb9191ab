// What texture and surface instructions have in common: the geometry, the object and the coordinates.
#pragma once

#include <string>
#include <vector>

#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {

struct Geometry {
  unsigned dimensions = 0;  // of coordinates; 0: one that we do not have
  bool layered = false;
  const char* name = "";  // in the functions for sampling
};

Geometry GeometryOf(const Emitter& e);

// [handle, {layer, x, y, z}] as values.
struct TextureOperand {
  llvm::Value* handle = nullptr;
  llvm::Value* layer = nullptr;
  std::vector<llvm::Value*> at;  // one per dimension
};

// The address of the description: what the operand's register holds (an object), or the place of the variable that it
// names (a reference of the type `reference`). Null, and the statement refused, for anything else.
llvm::Value* HandleOf(Emitter& e, const ptx::Operand& base, ptx::Type reference);

// Refuses what is not such an operand; false then.
bool ReadTextureOperand(Emitter& e, size_t operand, const Geometry& geometry, ptx::Type reference, ptx::Type coordinate,
                        TextureOperand* access);

// A call of a function for sampling (compiler/sampling).
llvm::Value* CallSampling(Emitter& e, const std::string& name, llvm::Type* result,
                          const std::vector<llvm::Value*>& arguments);

}  // namespace tutti::compiler::lowering
