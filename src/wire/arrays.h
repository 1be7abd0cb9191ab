// Arrays and textures that a device makes (kDeviceMakesArrays): their memory is laid out as its driver likes, and only
// the driver's own functions and textures reach it.
//
// For copies an array has addresses of its own in the window's reserved part, as if it were linear memory: level after
// level, in each planes (or layers) of rows without gaps. No memory lies there; whoever does a copy makes a box of the
// array of them.
#pragma once

#include <cstdint>
#include <optional>

#include "wire/ring_layout.h"

namespace tutti::wire {

// As CUDA_ARRAY3D_DESCRIPTOR has it.
struct ArrayShape {
  uint64_t width = 0, height = 0, depth = 0;  // texels, rows, planes or layers; 0: there is no such axis
  int32_t format = 0;  // CUarray_format
  uint32_t channels = 0;
  uint32_t flags = 0;  // CUDA_ARRAY3D_*
  uint32_t levels = 0;  // at least 1
  uint32_t mipmapped = 0;  // 1: it is, be it with one level
  uint32_t reserved = 0;
};
inline constexpr uint32_t kMostArrayLevels = 32;
inline constexpr uint32_t kLayeredArray = 1, kCubeMapArray = 4;  // of flags

// What a level is, and where it lies among the addresses of its array.
struct ArrayLevel {
  uint64_t width = 0, height = 0, depth = 0;  // as ArrayShape has them: half of the level's before
  uint64_t begin = 0;
  uint64_t row_bytes = 0, rows = 0, planes = 0;
  uint64_t plane_bytes() const { return row_bytes * rows; }
  uint64_t bytes() const { return plane_bytes() * planes; }
};

// The layout of an array whose texels have so many bytes.
class ArrayLayout {
 public:
  // Nothing: an array without texels or levels, or one of more bytes than there are addresses.
  static std::optional<ArrayLayout> Of(const ArrayShape& shape, uint32_t texel_bytes);

  uint64_t bytes() const { return bytes_; }  // of all levels, with gaps between them
  // `number` is below the shape's levels.
  ArrayLevel Level(uint32_t number) const;
  // The level that begins there; nothing: none does.
  std::optional<uint32_t> LevelAt(uint64_t offset) const;

  // A part of a level.
  struct Box {
    uint32_t level = 0;
    uint64_t x_bytes = 0, y = 0, z = 0;
  };
  // One side of a copy of bytes that are not 0: so far from the array's first address. Nothing: it is no box of texels.
  struct Rows {
    uint64_t offset = 0;
    uint64_t row_bytes = 0, rows = 0, planes = 0;
    uint64_t pitch = 0, plane = 0;
  };
  std::optional<Box> Find(const Rows& rows) const;

 private:
  ArrayLayout(const ArrayShape& shape, uint32_t texel_bytes) : shape_(shape), texel_bytes_(texel_bytes) {}

  ArrayShape shape_;
  uint64_t texel_bytes_;
  uint64_t bytes_ = 0;
};

// Of a copy; from the array's first address to where they begin: by whoever knows the array.
inline ArrayLayout::Rows DestinationRowsOf(const CopyBody& copy) {
  return {.row_bytes = copy.row_bytes,
          .rows = copy.rows,
          .planes = copy.planes,
          .pitch = copy.destination_pitch,
          .plane = copy.destination_plane};
}
inline ArrayLayout::Rows SourceRowsOf(const CopyBody& copy) {
  return {.row_bytes = copy.row_bytes,
          .rows = copy.rows,
          .planes = copy.planes,
          .pitch = copy.source_pitch,
          .plane = copy.source_plane};
}

struct ArrayCreateBody {
  ArrayShape shape;
  uint32_t device;
  uint32_t reserved;
};
// Reply: value[0] = the first of its addresses. It is freed as an allocation.
inline constexpr uint32_t kMostArrays = 65536;  // of one client, not freed

enum class TextureKind : uint32_t {
  kSurface = 0,  // of an array, or a level of a mipmapped one
  kArray = 1,  // as well
  kLevels = 2,  // of a mipmapped array
  kLinear = 3,
  kPitched = 4,
};
inline constexpr TextureKind kLastTextureKind = TextureKind::kPitched;

// Fields are those of CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC and CUDA_RESOURCE_VIEW_DESC, 0 where a kind has none.
struct TextureCreateBody {
  uint64_t address;  // the first of the array or of its level, or of linear memory
  uint64_t width;  // kLinear: bytes; kPitched: texels
  uint64_t height;  // kPitched
  uint64_t pitch;
  TextureKind kind;
  uint32_t device;
  int32_t format;  // kLinear, kPitched
  uint32_t channels;
  float border[4];
  uint8_t address_mode[3];
  uint8_t filter;
  uint8_t level_filter;
  uint8_t reserved[3];
  uint32_t flags;
  uint32_t most_anisotropy;
  float level_bias, level_least, level_most;
  int32_t view_format;  // 0: there is no view; its extent is the array's
  uint16_t view_first_level, view_last_level;
  uint16_t view_first_layer, view_last_layer;
};
static_assert(sizeof(TextureCreateBody) == 104);
// Reply: value[0] = what names it in kernels.
inline constexpr uint32_t kMostTextures = 1u << 17;  // of one client, not destroyed

// When all work submitted before is done.
struct TextureDestroyBody {
  uint64_t texture;
  uint32_t is_surface;  // 1: a surface object, which has numbers of its own
  uint32_t reserved;
};

}  // namespace tutti::wire
