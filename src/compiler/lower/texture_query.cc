// Queries of textures and surfaces: txq and suq. compiler/sampling/query.cc answers them.
#include <optional>

#include "compiler/lower/families.h"
#include "compiler/lower/texture_operand.h"
#include "guest/texture.h"

namespace tutti::compiler::lowering {
namespace {

using M = ptx::Modifier;
using Query = guest::TextureQuery;

struct QueryRow {
  M modifier;
  Query query;
  bool of_surfaces;
};

constexpr QueryRow kQueries[] = {
    {M::kWidth, Query::kWidth, true},
    {M::kHeight, Query::kHeight, true},
    {M::kDepth, Query::kDepth, true},
    {M::kArraySize, Query::kLayers, true},
    {M::kNumMipmapLevels, Query::kLevels, false},
    {M::kNormalizedCoords, Query::kNormalized, false},
    {M::kFilterMode, Query::kFilter, false},
    {M::kAddrMode0, Query::kMode0, false},
    {M::kAddrMode1, Query::kMode1, false},
    {M::kAddrMode2, Query::kMode2, false},
};

// Those whose answer is the same for all that there is: no texture has samples, no sampler changes its texture's
// coordinates, and arrays are not what programs call linear memory.
std::optional<uint32_t> ConstantAnswer(const Emitter& e) {
  if (e.Has(M::kNumSamples)) return 1;
  if (e.Has(M::kForceUnnormalizedCoords) || e.Has(M::kMemoryLayout)) return 0;
  return std::nullopt;
}

}  // namespace

// txq.query.b32 d, [a]; txq.level.query.b32 d, [a], level; suq.query.b32 d, [a]
void EmitTextureQuery(Emitter& e) {
  const bool of_surface = e.instruction().opcode == ptx::Opcode::kSuq;
  if (e.type() != ptx::Type::kB32) return e.Invalid("the type is .b32");
  const bool has_level = e.Has(M::kLevel);
  if (has_level != (e.operands() == 3)) return e.Invalid("a level belongs to .level");
  if (e.operand(1).count != 0) return e.Invalid("a query has no coordinates");
  if (e.Has(M::kChannelDataType) || e.Has(M::kChannelOrder))
    return e.Refuse("the numbers of channel types and orders are those of OpenCL, which this is not");
  const ptx::Type reference = of_surface ? ptx::Type::kSurfref : ptx::Type::kTexref;
  llvm::Value* handle = HandleOf(e, e.operand(1), reference);
  if (handle == nullptr) return;
  if (const auto constant = ConstantAnswer(e)) return e.Out(e.ir.getInt32(*constant));
  for (const QueryRow& row : kQueries) {
    if (!e.Has(row.modifier)) continue;
    if (of_surface && !row.of_surfaces) return e.Invalid("not a query of surfaces");
    llvm::Value* level = has_level ? e.Read(e.operand(2), ptx::Type::kU32) : e.ir.getInt32(0);
    return e.Out(CallSampling(e, "tutti_texture_query", e.ir.getInt32Ty(),
                              {handle, e.ir.getInt32(static_cast<uint32_t>(row.query)), level}));
  }
  e.Invalid("no query");
}

}  // namespace tutti::compiler::lowering
