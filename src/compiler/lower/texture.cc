// Texture fetches and surface accesses through objects. compiler/sampling/texture.cc defines what they compute; this
// file prepares the operands.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/lower/families.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

struct Geometry {
  unsigned dimensions = 0;  // of coordinates; 0: one that we do not have
  bool layered = false;
  const char* name = "";  // in the functions for sampling
};

Geometry GeometryOf(const Emitter& e) {
  if (e.Has(M::k1D)) return {1, false, "1d"};
  if (e.Has(M::k2D)) return {2, false, "2d"};
  if (e.Has(M::k3D)) return {3, false, "3d"};
  if (e.Has(M::kA1D)) return {1, true, "1d"};
  if (e.Has(M::kA2D)) return {2, true, "2d"};
  if (e.Has(M::kCube)) return {3, false, "cube"};
  if (e.Has(M::kAcube)) return {3, true, "cube"};
  return {};
}

// [handle, {layer, x, y, z}] as values; refuses what is not that.
struct Access {
  llvm::Value* handle = nullptr;
  llvm::Value* layer = nullptr;
  std::vector<llvm::Value*> at;  // one per dimension
};

bool ReadAccess(Emitter& e, size_t operand, const Geometry& geometry, T coordinate, Access* access) {
  const ptx::Operand& base = e.operand(operand);
  if (geometry.dimensions == 0) return e.Refuse("multisampled textures are not supported"), false;
  if (base.kind != ptx::OperandKind::kAddress || base.base != ptx::BaseKind::kRegister || base.count != 1) {
    return e.Refuse("only texture and surface objects are supported, not references"), false;
  }
  access->handle = e.ir.CreatePtrToInt(e.Pointer(base, ptx::StateSpace::kGlobal), e.ir.getInt64Ty());
  const auto coordinates = e.Elements(e.operand(operand + 1));
  const size_t layers = geometry.layered ? 1 : 0;
  if (coordinates.size() < layers + geometry.dimensions) return e.Invalid("too few coordinates"), false;
  access->layer = geometry.layered ? e.Read(*coordinates[0], T::kU32) : e.ir.getInt32(0);
  for (unsigned i = 0; i < geometry.dimensions; ++i) access->at.push_back(e.Read(*coordinates[layers + i], coordinate));
  return true;
}

// Behind the coordinates a level or gradients may follow. Any other operand there, or before the coordinates, would
// change the result.
bool HasNothingElse(Emitter& e, size_t choices) {
  if (e.instruction().operands.size() <= 3 + choices) return true;
  return e.Refuse("samplers apart from their texture, offsets and depth comparisons are not supported"), false;
}

// How many operands choose the level: none, a level, or two gradients.
size_t Choices(const Emitter& e) { return e.Has(M::kGrad) ? 2 : e.Has(M::kLevel) ? 1 : 0; }

// Appends the numbers of one of them. A vector may be longer than what the texture has dimensions.
bool ReadChoice(Emitter& e, size_t operand, size_t count, std::vector<llvm::Value*>* numbers) {
  if (operand >= e.instruction().operands.size()) return e.Invalid("the level or a gradient is missing"), false;
  const auto given = e.Elements(e.operand(operand));
  if (given.size() < count) return e.Invalid("the level or gradient has too few numbers"), false;
  for (size_t i = 0; i < count; ++i) numbers->push_back(e.Read(*given[i], T::kF32));
  return true;
}

llvm::Value* Call(Emitter& e, const std::string& name, llvm::Type* result, const std::vector<llvm::Value*>& arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  return e.ir.CreateCall(e.module().module().getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
                         arguments);
}

// The four words of a fetch to the destinations.
void WriteFetched(Emitter& e, llvm::Value* fetched) {
  const auto destinations = e.Elements(e.operand(0));
  const T type = e.type(0);
  if (destinations.size() != 4 || (type != T::kF32 && type != T::kS32 && type != T::kU32)) {
    return e.Refuse("only fetches of four 32-bit values are supported");
  }
  for (unsigned i = 0; i < 4; ++i) {
    if (destinations[i]->kind == ptx::OperandKind::kSink) continue;
    llvm::Value* word = e.ir.CreateExtractValue(fetched, i / 2);
    if (i % 2 == 1) word = e.ir.CreateLShr(word, 32);
    word = e.ir.CreateTrunc(word, e.ir.getInt32Ty());
    e.Write(*destinations[i], e.ir.CreateBitCast(word, TypeOf(e.context(), type)), type);
  }
}

llvm::Type* FetchedType(Emitter& e) { return llvm::StructType::get(e.ir.getInt64Ty(), e.ir.getInt64Ty()); }

// Bytes of each register of a surface access; 0 if they are not as the instruction says.
uint64_t ElementBytes(Emitter& e, size_t registers) {
  const uint64_t bytes = ptx::BitsOf(e.type()) / 8;
  if (registers != std::max<size_t>(e.instruction().vector, 1) || bytes == 0) {
    e.Invalid("the number of registers is not that of the vector");
    return 0;
  }
  return bytes;
}

// What a surface access means. With .zero it happens in a block of its own; another one is for what lies outside.
struct SurfaceAccess {
  llvm::Value* address = nullptr;
  llvm::BasicBlock* outside = nullptr;
};

bool Locate(Emitter& e, size_t operand, uint64_t bytes, SurfaceAccess* surface) {
  if (!e.Has(M::kB)) return e.Refuse("only unformatted surface accesses (.b) are supported"), false;
  const Geometry geometry = GeometryOf(e);
  if (e.Has(M::kCube) || e.Has(M::kAcube)) return e.Invalid("a surface has no such geometry"), false;
  Access access;
  if (!ReadAccess(e, operand, geometry, T::kS32, &access)) return false;
  access.at.resize(3, e.ir.getInt32(0));
  llvm::Value* address = Call(
      e, "tutti_surface", e.ir.getInt64Ty(),
      {access.handle, access.layer, access.at[0], access.at[1], access.at[2], e.ir.getInt32(geometry.layered ? 1 : 0),
       e.ir.getInt32(static_cast<uint32_t>(bytes)), e.ir.getInt32(e.Has(M::kClamp) ? 1 : 0)});
  surface->address = address;
  if (!e.Has(M::kZero)) return true;  // .trap: 0 is where the access fails
  llvm::BasicBlock* inside = e.NewBlock("inside");
  surface->outside = e.NewBlock("outside");
  e.ir.CreateCondBr(e.ir.CreateICmpNE(address, e.ir.getInt64(0)), inside, surface->outside);
  e.ir.SetInsertPoint(inside);
  return true;
}

// After the access: what lies outside reads as 0.
void GoOn(Emitter& e, const SurfaceAccess& surface, const std::vector<const ptx::Operand*>& read) {
  if (surface.outside == nullptr) return;
  llvm::BasicBlock* after = e.NewBlock("after");
  e.ir.CreateBr(after);
  e.ir.SetInsertPoint(surface.outside);
  for (const ptx::Operand* destination : read) e.Write(*destination, e.Zero(e.type()), e.type());
  e.ir.CreateBr(after);
  e.ir.SetInsertPoint(after);
}

llvm::Value* ElementPointer(Emitter& e, const SurfaceAccess& surface, uint64_t offset) {
  return e.PointerFrom(e.ir.CreateAdd(surface.address, e.ir.getInt64(offset)), kGlobalSpace);
}

}  // namespace

void EmitTex(Emitter& e) {
  if (e.instruction().has_second_destination) return e.Refuse("sparse textures are not supported");
  const Geometry geometry = GeometryOf(e);
  const T coordinate = e.type(1);
  if (coordinate != T::kF32 && coordinate != T::kS32) return e.Invalid("coordinates are .f32 or .s32");
  const size_t choices = Choices(e);
  Access access;
  if (!HasNothingElse(e, choices) || !ReadAccess(e, 1, geometry, coordinate, &access)) return;
  std::vector<llvm::Value*> arguments = {access.handle, access.layer};
  if (coordinate == T::kF32) {
    arguments.insert(arguments.end(), access.at.begin(), access.at.end());
    for (size_t i = 0; i < choices; ++i) {
      if (!ReadChoice(e, 3 + i, e.Has(M::kGrad) ? geometry.dimensions : 1, &arguments)) return;
    }
    const char* form = e.Has(M::kGrad) ? "grad_" : e.Has(M::kLevel) ? "level_" : "";
    const std::string name = fmt::format("tutti_texture_{}{}", form, geometry.name);
    return WriteFetched(e, Call(e, name, FetchedType(e), arguments));
  }
  if (e.Has(M::kCube) || e.Has(M::kAcube)) return e.Invalid("coordinates of a cube map are .f32");
  if (choices != 0) return e.Refuse("levels and gradients are supported with coordinates of .f32 only");
  access.at.resize(3, e.ir.getInt32(0));
  arguments.insert(arguments.end(), access.at.begin(), access.at.end());
  arguments.push_back(e.ir.getInt32(geometry.layered ? 1 : 0));
  WriteFetched(e, Call(e, "tutti_texel", FetchedType(e), arguments));
}

void EmitTld4(Emitter& e) {
  if (e.instruction().has_second_destination) return e.Refuse("sparse textures are not supported");
  const Geometry geometry = GeometryOf(e);
  if (geometry.dimensions != 2 || e.type(1) != T::kF32) return e.Refuse("only two-dimensional textures are supported");
  Access access;
  if (!HasNothingElse(e, 0) || !ReadAccess(e, 1, geometry, T::kF32, &access)) return;
  const uint32_t channel = e.Has(M::kA) ? 3 : e.Has(M::kB) ? 2 : e.Has(M::kG) ? 1 : 0;
  WriteFetched(e, Call(e, "tutti_texture_gather", FetchedType(e),
                       {access.handle, access.layer, access.at[0], access.at[1], e.ir.getInt32(channel)}));
}

void EmitSuld(Emitter& e) {
  const auto destinations = e.Elements(e.operand(0));
  const uint64_t bytes = ElementBytes(e, destinations.size());
  SurfaceAccess surface;
  if (bytes == 0 || !Locate(e, 1, bytes * destinations.size(), &surface)) return;
  for (size_t i = 0; i < destinations.size(); ++i) {
    llvm::Value* at = ElementPointer(e, surface, i * bytes);
    e.Write(*destinations[i], e.ir.CreateAlignedLoad(TypeOf(e.context(), e.type()), at, llvm::Align(bytes)), e.type());
  }
  GoOn(e, surface, destinations);
}

void EmitSust(Emitter& e) {
  const auto sources = e.Elements(e.operand(2));
  const uint64_t bytes = ElementBytes(e, sources.size());
  SurfaceAccess surface;
  if (bytes == 0 || !Locate(e, 0, bytes * sources.size(), &surface)) return;
  for (size_t i = 0; i < sources.size(); ++i) {
    e.ir.CreateAlignedStore(e.Read(*sources[i], e.type()), ElementPointer(e, surface, i * bytes), llvm::Align(bytes));
  }
  GoOn(e, surface, {});
}

}  // namespace tutti::compiler::lowering
