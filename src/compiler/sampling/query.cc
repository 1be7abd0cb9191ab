// What kernels ask about a texture or surface (txq, suq): from its description, which they could read as well.
#include "compiler/sampling/image.h"
#include "compiler/sampling/level.h"

namespace tutti::sampling {
namespace {

using guest::TextureQuery;

// The PTX ISA names the modes, and their order is their numbers.
TUTTI_INLINE uint32_t NumberOf(AddressMode mode) {
  if (mode == AddressMode::kWrap) return 0;
  if (mode == AddressMode::kMirror) return 1;
  return mode == AddressMode::kClamp ? 3 : 4;
}

TUTTI_INLINE uint32_t Layers(const Texture* t) {
  if ((t->planes & guest::kPlanesAreLayers) == 0) return 1;
  return (t->planes & guest::kPlanesAreFaces) != 0 ? t->extent[2] / 6 : t->extent[2];
}

}  // namespace

TUTTI_SAMPLING uint32_t tutti_texture_query(uint64_t handle, uint32_t what, uint32_t level) {
  const Texture* t = At(handle);
  const Image image = LevelOf(t, level, t->planes == 0);
  switch (static_cast<TextureQuery>(what)) {
    case TextureQuery::kWidth: return image.extent[0];
    case TextureQuery::kHeight: return image.extent[1];
    case TextureQuery::kDepth: return t->planes == 0 ? image.extent[2] : 1;
    case TextureQuery::kLayers: return Layers(t);
    case TextureQuery::kLevels: return t->levels;
    case TextureQuery::kNormalized: return t->normalized;
    case TextureQuery::kFilter: return t->linear;
    case TextureQuery::kMode0: return NumberOf(t->mode[0]);
    case TextureQuery::kMode1: return NumberOf(t->mode[1]);
    case TextureQuery::kMode2: return NumberOf(t->mode[2]);
  }
  return 0;
}

}  // namespace tutti::sampling
