#include "wire/arrays.h"

#include <algorithm>

#include "base/checked.h"

namespace tutti::wire {
namespace {

constexpr uint64_t kLevelAlignment = 512;
constexpr uint64_t kMostAxis = 1u << 31;
constexpr uint64_t kMostBytes = 1ull << 46;
// CUDA_ARRAY3D_SPARSE and CUDA_ARRAY3D_DEFERRED_MAPPING: nobody here maps their memory, and a driver drops, or refuses,
// what is copied to where there is none.
constexpr uint32_t kMappedLater = 0x40 | 0x80;

uint64_t Halved(uint64_t extent, uint32_t level) { return extent == 0 ? 0 : std::max<uint64_t>(extent >> level, 1); }

}  // namespace

std::optional<ArrayLayout> ArrayLayout::Of(const ArrayShape& shape, uint32_t texel_bytes) {
  const bool has_axes =
      shape.width != 0 && shape.width <= kMostAxis && shape.height <= kMostAxis && shape.depth <= kMostAxis;
  if (!has_axes || texel_bytes == 0 || shape.levels == 0 || shape.levels > kMostArrayLevels ||
      (shape.levels > 1 && shape.mipmapped != 1) || shape.mipmapped > 1 || (shape.flags & kMappedLater) != 0)
    return std::nullopt;
  const auto plane = CheckedMul(shape.width * texel_bytes, std::max<uint64_t>(shape.height, 1));
  const auto level = plane ? CheckedMul(*plane, std::max<uint64_t>(shape.depth, 1)) : std::nullopt;
  // No level has more than the one before.
  if (!level || *level > kMostBytes / shape.levels - kLevelAlignment) return std::nullopt;
  ArrayLayout layout(shape, texel_bytes);
  const ArrayLevel last = layout.Level(shape.levels - 1);
  layout.bytes_ = last.begin + last.bytes();
  return layout;
}

ArrayLevel ArrayLayout::Level(uint32_t number) const {
  const bool has_layers = (shape_.flags & (kLayeredArray | kCubeMapArray)) != 0;
  ArrayLevel level;
  for (uint32_t i = 0;; ++i) {
    level.width = Halved(shape_.width, i);
    level.height = Halved(shape_.height, i);
    level.depth = has_layers ? shape_.depth : Halved(shape_.depth, i);
    level.row_bytes = level.width * texel_bytes_;
    level.rows = std::max<uint64_t>(level.height, 1);
    level.planes = std::max<uint64_t>(level.depth, 1);
    if (i == number) return level;
    level.begin = AlignUp(level.begin + level.bytes(), kLevelAlignment);
  }
}

std::optional<uint32_t> ArrayLayout::LevelAt(uint64_t offset) const {
  for (uint32_t number = 0; number < shape_.levels; ++number) {
    if (Level(number).begin == offset) return number;
  }
  return std::nullopt;
}

std::optional<ArrayLayout::Box> ArrayLayout::Find(const Rows& rows) const {
  uint32_t number = 0;
  while (number + 1 < shape_.levels && Level(number + 1).begin <= rows.offset) ++number;
  const ArrayLevel level = Level(number);
  if (rows.offset < level.begin || rows.offset - level.begin >= level.bytes()) return std::nullopt;
  const uint64_t offset = rows.offset - level.begin;
  const Box box{.level = number,
                .x_bytes = offset % level.row_bytes,
                .y = offset / level.row_bytes % level.rows,
                .z = offset / level.plane_bytes()};
  const bool is_whole = box.x_bytes % texel_bytes_ == 0 && rows.row_bytes % texel_bytes_ == 0;
  const bool is_laid_out =
      (rows.rows == 1 || rows.pitch == level.row_bytes) && (rows.planes == 1 || rows.plane == level.plane_bytes());
  const bool is_inside = InRange(box.x_bytes, rows.row_bytes, level.row_bytes) &&
                         InRange(box.y, rows.rows, level.rows) && InRange(box.z, rows.planes, level.planes);
  return is_whole && is_laid_out && is_inside ? std::optional(box) : std::nullopt;
}

}  // namespace tutti::wire
