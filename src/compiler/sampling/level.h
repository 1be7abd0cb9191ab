// Levels of mipmapped textures: which ones a fetch reads, and what it makes of two of them.
//
// The programming guide leaves the choice of a level to the graphics interfaces, so it is theirs (Vulkan, "Texel
// Coordinate Systems"): the level asked for, plus the texture's bias, within the texture's limits and its levels. The
// nearest one is read, or the two around it are mixed, by a fraction of 8 bits like that between two texels. Gradients
// ask for the binary logarithm of the longer of the two, in texels of the first level.
#pragma once

#include "compiler/sampling/image.h"

namespace tutti::sampling {

// The binary logarithm, with an error below 1e-6. At 0 and below about -127, as for numbers too large about 128.
TUTTI_INLINE float Log2(float x) {
  const auto bits = static_cast<int32_t>(Bits(x));
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const int32_t e = (bits - 0x3f3504f3) >> 23;
  const float m = Float(static_cast<uint32_t>(bits - static_cast<int32_t>(static_cast<uint32_t>(e) << 23)));
  const float t = (m - 1) / (m + 1), s = t * t;
  const float series = t * (1 + s * (0.333333333f + s * (0.2f + s * 0.142857143f)));
  return static_cast<float>(e) + 2.88539008f * series;
}

struct Levels {
  uint32_t first, second;
  float weight;  // of the second
};

TUTTI_INLINE Levels LevelsAt(const Texture* t, float level) {
  level += t->level_bias;
  level = level > t->level_min ? level : t->level_min;
  level = level < t->level_max ? level : t->level_max;
  level = level > 0 ? level : 0;  // NaN as well
  const uint32_t count = t->levels < guest::kMostLevels ? t->levels : guest::kMostLevels;
  const float last = AsFloat(count) - 1;
  level = level < last ? level : last;
  if (t->linear_levels == 0) {
    const auto nearest = static_cast<uint32_t>(static_cast<int32_t>(level + 0.5f));
    return {nearest, nearest, 0};
  }
  const auto first = static_cast<uint32_t>(static_cast<int32_t>(level));
  return {first, first + 1, RoundedTo8Bits(level - AsFloat(first))};
}

TUTTI_INLINE uint32_t Halved(uint32_t extent, uint32_t level) {
  const uint32_t rest = extent >> level;
  return rest > 1 ? rest : 1;
}

// `is_deep`: the last axis is halved as well; it is not one of layers.
TUTTI_INLINE Image LevelOf(const Texture* t, uint32_t level, bool is_deep) {
  if (level == 0) return FirstLevel(t);
  level &= guest::kMostLevels - 1;
  const uint32_t width = Halved(t->extent[0], level), height = Halved(t->extent[1], level);
  const uint64_t row_bytes = static_cast<uint64_t>(width) * t->texel_bytes;
  return {t->level_address[level],
          row_bytes,
          row_bytes * height,
          {width, height, is_deep ? Halved(t->extent[2], level) : t->extent[2]}};
}

TUTTI_INLINE uint32_t Mixed(uint64_t first, uint64_t second, float weight) {
  const float a = Float(static_cast<uint32_t>(first)), b = Float(static_cast<uint32_t>(second));
  return Bits((1 - weight) * a + weight * b);
}
TUTTI_INLINE uint64_t MixedPair(uint64_t first, uint64_t second, float weight) {
  return Mixed(first, second, weight) | static_cast<uint64_t>(Mixed(first >> 32, second >> 32, weight)) << 32;
}

// What sample(image) reads at the level asked for.
template <typename SampleOne>
TUTTI_INLINE Texel AtLevel(const Texture* t, float level, bool is_deep, SampleOne sample) {
  const Levels levels = LevelsAt(t, level);
  Texel result = {};
  // A loop, and one that stays, so that the code of `sample` is there once: for the compiler's time, and because loads
  // that the optimizer finds twice and makes one have no place in the PTX any more that a fault could name.
#pragma clang loop unroll(disable)
  for (uint32_t turn = 0; turn < 2; ++turn) {
    const Texel texel = sample(LevelOf(t, turn == 0 ? levels.first : levels.second, is_deep));
    if (turn == 0) {
      result = texel;
      if (levels.weight == 0) break;
    } else {
      result = {MixedPair(result.xy, texel.xy, levels.weight), MixedPair(result.zw, texel.zw, levels.weight)};
    }
  }
  return result;
}

// The square of a gradient's length on one axis; in texels, which is what coordinates count if they are not normalised.
TUTTI_INLINE float Square(const Texture* t, uint32_t axis, float change) {
  const float texels = t->normalized != 0 ? change * AsFloat(t->extent[axis]) : change;
  return texels * texels;
}
// The level for two gradients, from the squares of their lengths.
TUTTI_INLINE float LevelFor(float x, float y) { return 0.5f * Log2(x > y ? x : y); }

}  // namespace tutti::sampling
