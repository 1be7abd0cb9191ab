// Texture fetches. compiler/sampling/texture.cc defines what they compute; this
// file prepares the operands.
#include <fmt/format.h>

#include "compiler/lower/families.h"
#include "compiler/lower/texture_operand.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using T = ptx::Type;

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

// One of the four words of a fetch, as 32 bits.
llvm::Value* Word(Emitter& e, llvm::Value* fetched, unsigned number) {
  llvm::Value* word = e.ir.CreateExtractValue(fetched, number / 2);
  if (number % 2 == 1) word = e.ir.CreateLShr(word, 32);
  return e.ir.CreateTrunc(word, e.ir.getInt32Ty());
}

// Its 32-bit float rounded to one of 16 bits, as these bits.
llvm::Value* HalfWord(Emitter& e, llvm::Value* fetched, unsigned number) {
  llvm::Value* wide = e.ir.CreateBitCast(Word(e, fetched, number), e.ir.getFloatTy());
  return e.ir.CreateBitCast(e.ir.CreateFPTrunc(wide, e.ir.getHalfTy()), e.ir.getInt16Ty());
}

// As the instruction's type asks: a word, a half, or two halves, the first in the lower bits.
llvm::Value* Fetched(Emitter& e, llvm::Value* fetched, unsigned number, T type) {
  if (type == T::kF16) return HalfWord(e, fetched, number);
  if (type != T::kF16x2) return Word(e, fetched, number);
  llvm::Type* word = e.ir.getInt32Ty();
  llvm::Value* low = e.ir.CreateZExt(HalfWord(e, fetched, 2 * number), word);
  llvm::Value* high = e.ir.CreateZExt(HalfWord(e, fetched, 2 * number + 1), word);
  return e.ir.CreateOr(low, e.ir.CreateShl(high, 16));
}

// The four words of a fetch to the destinations.
void WriteFetched(Emitter& e, llvm::Value* fetched) {
  const auto destinations = e.Elements(e.operand(0));
  const T type = e.type(0);
  const bool is_known = type == T::kF32 || type == T::kS32 || type == T::kU32 || type == T::kF16 || type == T::kF16x2;
  if (!is_known || destinations.size() != (type == T::kF16x2 ? 2 : 4)) {
    return e.Refuse("only fetches of four values of 16 or 32 bits are supported");
  }
  for (unsigned i = 0; i < destinations.size(); ++i) {
    if (destinations[i]->kind == ptx::OperandKind::kSink) continue;
    llvm::Value* value = Fetched(e, fetched, i, type);
    e.Write(*destinations[i], e.ir.CreateBitCast(value, TypeOf(e.context(), type)), type);
  }
}

llvm::Type* FetchedType(Emitter& e) { return llvm::StructType::get(e.ir.getInt64Ty(), e.ir.getInt64Ty()); }

}  // namespace

void EmitTex(Emitter& e) {
  if (e.instruction().has_second_destination) return e.Refuse("sparse textures are not supported");
  const Geometry geometry = GeometryOf(e);
  const T coordinate = e.type(1);
  if (coordinate != T::kF32 && coordinate != T::kS32) return e.Invalid("coordinates are .f32 or .s32");
  const size_t choices = Choices(e);
  TextureOperand access;
  if (!HasNothingElse(e, choices) || !ReadTextureOperand(e, 1, geometry, T::kTexref, coordinate, &access)) return;
  std::vector<llvm::Value*> arguments = {access.handle, access.layer};
  if (coordinate == T::kF32) {
    arguments.insert(arguments.end(), access.at.begin(), access.at.end());
    for (size_t i = 0; i < choices; ++i) {
      if (!ReadChoice(e, 3 + i, e.Has(M::kGrad) ? geometry.dimensions : 1, &arguments)) return;
    }
    const char* form = e.Has(M::kGrad) ? "grad_" : e.Has(M::kLevel) ? "level_" : "";
    const std::string name = fmt::format("tutti_texture_{}{}", form, geometry.name);
    return WriteFetched(e, CallSampling(e, name, FetchedType(e), arguments));
  }
  if (e.Has(M::kCube) || e.Has(M::kAcube)) return e.Invalid("coordinates of a cube map are .f32");
  if (choices != 0) return e.Refuse("levels and gradients are supported with coordinates of .f32 only");
  access.at.resize(3, e.ir.getInt32(0));
  arguments.insert(arguments.end(), access.at.begin(), access.at.end());
  arguments.push_back(e.ir.getInt32(geometry.layered ? 1 : 0));
  WriteFetched(e, CallSampling(e, "tutti_texel", FetchedType(e), arguments));
}

void EmitTld4(Emitter& e) {
  if (e.instruction().has_second_destination) return e.Refuse("sparse textures are not supported");
  const Geometry geometry = GeometryOf(e);
  if (geometry.dimensions != 2 || e.type(1) != T::kF32) return e.Refuse("only two-dimensional textures are supported");
  TextureOperand access;
  if (!HasNothingElse(e, 0) || !ReadTextureOperand(e, 1, geometry, T::kTexref, T::kF32, &access)) return;
  const uint32_t channel = e.Has(M::kA) ? 3 : e.Has(M::kB) ? 2 : e.Has(M::kG) ? 1 : 0;
  WriteFetched(e, CallSampling(e, "tutti_texture_gather", FetchedType(e),
                               {access.handle, access.layer, access.at[0], access.at[1], e.ir.getInt32(channel)}));
}

}  // namespace tutti::compiler::lowering
