// Surface accesses. compiler/sampling/surface.cc finds the place; this file reads, writes or updates it.
#include <algorithm>

#include "compiler/lower/atomic_update.h"
#include "compiler/lower/families.h"
#include "compiler/lower/texture_operand.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

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

// Where a surface is accessed, as the functions for it take that.
bool ReadPlace(Emitter& e, size_t operand, std::vector<llvm::Value*>* arguments) {
  const Geometry geometry = GeometryOf(e);
  if (e.Has(M::kCube) || e.Has(M::kAcube)) return e.Invalid("a surface has no such geometry"), false;
  TextureOperand access;
  if (!ReadTextureOperand(e, operand, geometry, T::kSurfref, T::kS32, &access)) return false;
  access.at.resize(3, e.ir.getInt32(0));
  *arguments = {access.handle, access.layer, access.at[0],
                access.at[1],  access.at[2], e.ir.getInt32(geometry.layered ? 1 : 0)};
  return true;
}

// With `bytes` 0, of a texel; x counts texels then, and bytes otherwise.
bool Locate(Emitter& e, size_t operand, uint64_t bytes, SurfaceAccess* surface) {
  std::vector<llvm::Value*> arguments;
  if (!ReadPlace(e, operand, &arguments)) return false;
  if (bytes != 0) arguments.push_back(e.ir.getInt32(static_cast<uint32_t>(bytes)));
  arguments.push_back(e.ir.getInt32(e.Has(M::kClamp) ? 1 : 0));
  llvm::Value* address =
      CallSampling(e, bytes != 0 ? "tutti_surface" : "tutti_surface_texel", e.ir.getInt64Ty(), arguments);
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

// sust.p: the surface's format says what the registers' bits are, and what is stored of them.
void EmitFormattedStore(Emitter& e) {
  const auto sources = e.Elements(e.operand(2));
  if (ElementBytes(e, sources.size()) != 4) return e.Invalid("formatted stores take registers of 32 bits");
  std::vector<llvm::Value*> arguments;
  if (!ReadPlace(e, 0, &arguments)) return;
  arguments.push_back(e.ir.getInt32(e.Has(M::kZero) ? 2 : e.Has(M::kClamp) ? 1 : 0));
  arguments.push_back(e.ir.getInt32(static_cast<uint32_t>(sources.size())));
  for (size_t i = 0; i < 4; ++i) {
    arguments.push_back(i < sources.size() ? e.Read(*sources[i], T::kB32) : e.ir.getInt32(0));
  }
  CallSampling(e, "tutti_surface_put", e.ir.getVoidTy(), arguments);
}

}  // namespace

void EmitSuld(Emitter& e) {
  if (!e.Has(M::kB)) return e.Invalid("surfaces are read without a format (.b)");
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
  if (e.Has(M::kP)) return EmitFormattedStore(e);
  if (!e.Has(M::kB)) return e.Invalid(".b or .p is missing");
  const auto sources = e.Elements(e.operand(2));
  const uint64_t bytes = ElementBytes(e, sources.size());
  SurfaceAccess surface;
  if (bytes == 0 || !Locate(e, 0, bytes * sources.size(), &surface)) return;
  for (size_t i = 0; i < sources.size(); ++i) {
    e.ir.CreateAlignedStore(e.Read(*sources[i], e.type()), ElementPointer(e, surface, i * bytes), llvm::Align(bytes));
  }
  GoOn(e, surface, {});
}

// sured{.b,.p}.op.geometry.type.outside [surface, {x, y}], value. Of a formatted one the surface's format says what the
// bits are, which only minimum and maximum depend on.
void EmitSured(Emitter& e) {
  const bool formatted = e.Has(M::kP);
  if (!formatted && !e.Has(M::kB)) return e.Invalid(".b or .p is missing");
  const bool ordered = e.Has(M::kMin) || e.Has(M::kMax);
  if (!ordered && !e.Has(M::kAdd) && !e.Has(M::kAnd) && !e.Has(M::kOr)) return e.Invalid("no reduction of surfaces");
  const T type = e.type();
  if (formatted && (ordered || type != T::kB32)) {
    return e.Refuse("formatted reductions of surfaces are .add, .and and .or of .b32");
  }
  if (type != T::kU32 && type != T::kS32 && type != T::kB32 && type != T::kU64 && type != T::kS64 && type != T::kB64)
    return e.Invalid("surfaces are reduced by integers of 32 and 64 bits");
  const bool is_bits = type == T::kB32 || type == T::kB64;
  const T as = !is_bits || e.Has(M::kAnd) || e.Has(M::kOr) ? type : type == T::kB32 ? T::kU32 : T::kU64;
  SurfaceAccess surface;
  if (!Locate(e, 0, formatted ? 0 : ptx::BitsOf(type) / 8, &surface)) return;
  UpdateByOperation(e, ElementPointer(e, surface, 0), e.In(2, as), as);
  GoOn(e, surface, {});
}

}  // namespace tutti::compiler::lowering
