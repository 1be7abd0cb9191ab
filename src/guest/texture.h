// What the handle of a texture or surface object points to: a description in the client's own window, written by the
// client when the object is made, read by its kernels whenever they sample. Nothing else trusts it: a kernel that
// forges a handle or a description loads from addresses of its choice, and these loads are checked like all its others.
//
// Stands alone: part of it is compiled for kernels (compiler/sampling).
#pragma once

#include <stdint.h>

namespace tutti::guest {

// How the bits of a channel become the 32 bits of a result.
enum class TexelKind : uint32_t {
  kBits,  // as they are, zero-extended
  kSigned,  // sign-extended
  kHalf,  // to float
  kUnsignedFraction,  // to float in [0, 1]: divided by `divisor`
  kSignedFraction,  // to float in [-1, 1]
};

// For a coordinate outside. kWrap and kMirror require normalised coordinates.
enum class AddressMode : uint32_t { kWrap, kClamp, kMirror, kBorder };

// Levels of a mipmapped texture: 2^15 texels wide at most.
inline constexpr uint32_t kMostLevels = 16;

// Bits of Texture::planes.
inline constexpr uint32_t kPlanesAreLayers = 1;
inline constexpr uint32_t kPlanesAreFaces = 2;

// What a kernel may ask about a texture or surface (txq, suq).
enum class TextureQuery : uint32_t {
  kWidth,
  kHeight,
  kDepth,
  kLayers,
  kLevels,
  kNormalized,
  kFilter,  // 0: nearest, 1: linear
  kMode0,  // 0: wrap, 1: mirror, 3: clamp to the edge, 4: clamp to the border, as the PTX ISA lists them
  kMode1,
  kMode2,
};

struct Texture {
  uint64_t address;  // of the first texel
  uint64_t row_bytes;  // from row to row
  uint64_t plane_bytes;  // from depth to depth, layer to layer, or face to face
  uint32_t extent[3];  // in texels; the last one also counts layers and faces; 1 where there is no such dimension
  uint32_t texel_bytes;  // channels * channel_bytes
  uint32_t channels;  // 1, 2 or 4; those that are missing read as 0
  uint32_t channel_bytes;  // 1, 2 or 4
  TexelKind kind;
  float divisor;
  AddressMode mode[3];
  uint32_t linear;  // 0: the nearest texel
  uint32_t normalized;  // coordinates go from 0 to 1
  uint32_t border[4];  // what kBorder reads, as a result
  uint32_t levels;  // 1 without mipmaps, kMostLevels at most
  // Of the levels beyond the first, which the fields above describe: half as many texels on each axis, rounded down,
  // but at least one, and rows and planes without gaps.
  uint32_t linear_levels;  // 0: the nearest level
  float level_bias, level_min, level_max;  // added to the level that a kernel asks for; its limits
  uint64_t level_address[kMostLevels];  // of the first texel of each, `address` the first
  uint32_t seamless;  // of a cube map: linear filtering goes on beyond a face's edges
  uint32_t planes;  // what the last axis counts: depths unless bits say layers or faces
  uint64_t from_srgb;  // of 256 floats: what each byte of red, green and blue is, linearly; 0: bytes are linear
};
static_assert(sizeof(Texture) == 256);

}  // namespace tutti::guest
