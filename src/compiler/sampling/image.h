// Texels of one image, which is a level of a texture, and what linear filtering makes of them: what all fetches share.
//
// Linear filtering follows the programming guide: texel centres lie at .5, and the fraction between two texels is
// rounded to 8 bits as in hardware, since programs compare with stored results.
//
// Compiled for kernels (texture.cc): widening checks each load, of the description as of texels, so nothing here checks
// what a handle points to.
#pragma once

#include "guest/texture.h"

#define TUTTI_SAMPLING extern "C" __attribute__((visibility("default"), nothrow, always_inline))
#define TUTTI_INLINE static inline __attribute__((always_inline))

namespace tutti::sampling {

using guest::AddressMode;
using guest::TexelKind;
using guest::Texture;

// Four results of 32 bits, as a kernel's registers take them.
struct Texel {
  uint64_t xy, zw;
};

struct Image {
  uint64_t address, row_bytes, plane_bytes;
  uint32_t extent[3];
};

// Where a coordinate falls on one axis: between two texels. -1: on the border.
struct Footprint {
  int32_t first, second;
  float weight;  // of the second
};

constexpr float kFarthest = 1 << 30;

TUTTI_INLINE uint32_t Bits(float x) { return __builtin_bit_cast(uint32_t, x); }
TUTTI_INLINE float Float(uint32_t x) { return __builtin_bit_cast(float, x); }
TUTTI_INLINE float AsFloat(uint32_t x) { return static_cast<float>(static_cast<int32_t>(x)); }
// As in hardware.
TUTTI_INLINE float RoundedTo8Bits(float weight) { return __builtin_floorf(weight * 256 + 0.5f) / 256; }

TUTTI_INLINE const Texture* At(uint64_t handle) { return reinterpret_cast<const Texture*>(handle); }

TUTTI_INLINE Image FirstLevel(const Texture* t) {
  return {t->address, t->row_bytes, t->plane_bytes, {t->extent[0], t->extent[1], t->extent[2]}};
}

TUTTI_INLINE int32_t Inside(int32_t i, uint32_t extent, AddressMode mode) {
  if (static_cast<uint32_t>(i) < extent) return i;
  const auto size = static_cast<int32_t>(extent);
  if (mode == AddressMode::kBorder) return -1;
  if (mode == AddressMode::kWrap)
    return i < 0 ? i + size : i - size;  // normalised coordinates: one texel outside at most
  return i < 0 ? 0 : size - 1;
}

// `between`: the two texels whose centres enclose x; otherwise the first is the one that contains x.
TUTTI_INLINE Footprint FootprintOf(uint32_t extent, AddressMode mode, bool normalized, float x, bool between) {
  if (normalized) {
    if (mode == AddressMode::kWrap) x -= __builtin_floorf(x);
    if (mode == AddressMode::kMirror) {
      x -= 2 * __builtin_floorf(x * 0.5f);
      x = x > 1 ? 2 - x : x;
    }
    x *= AsFloat(extent);
  }
  x = x > -kFarthest ? x : -kFarthest;  // NaN as well
  x = x < kFarthest ? x : kFarthest;
  if (between) x -= 0.5f;
  const float floor = __builtin_floorf(x);
  const auto i = static_cast<int32_t>(floor);
  return {Inside(i, extent, mode), Inside(i + 1, extent, mode), RoundedTo8Bits(x - floor)};
}

TUTTI_INLINE uint32_t Channel(const Texture* t, uint64_t texel, uint32_t channel) {
  if (channel >= t->channels) return 0;
  const uint64_t address = texel + static_cast<uint64_t>(channel) * t->channel_bytes;
  uint32_t bits;
  int32_t number;
  if (t->channel_bytes == 4) {
    bits = *reinterpret_cast<const uint32_t*>(address);
    number = static_cast<int32_t>(bits);
  } else if (t->channel_bytes == 2) {
    bits = *reinterpret_cast<const uint16_t*>(address);
    number = static_cast<int16_t>(bits);
  } else {
    bits = *reinterpret_cast<const uint8_t*>(address);
    number = static_cast<int8_t>(bits);
  }
  if (t->kind == TexelKind::kBits) return bits;
  if (t->kind == TexelKind::kSigned) return static_cast<uint32_t>(number);
  if (t->kind == TexelKind::kHalf) return Bits(__builtin_bit_cast(_Float16, static_cast<uint16_t>(bits)));
  if (t->kind == TexelKind::kUnsignedFraction) {
    if (t->from_srgb != 0 && channel < 3) return reinterpret_cast<const uint32_t*>(t->from_srgb)[bits & 0xff];
    return Bits(AsFloat(bits) / t->divisor);
  }
  const float fraction = static_cast<float>(number) / t->divisor;
  return Bits(fraction > -1 ? fraction : -1);
}

TUTTI_INLINE uint64_t AddressOf(const Texture* t, const Image& image, int32_t x, int32_t y, int32_t z) {
  return image.address + static_cast<uint64_t>(static_cast<uint32_t>(z)) * image.plane_bytes +
         static_cast<uint64_t>(static_cast<uint32_t>(y)) * image.row_bytes +
         static_cast<uint64_t>(static_cast<uint32_t>(x)) * t->texel_bytes;
}

TUTTI_INLINE uint32_t Fetch(const Texture* t, const Image& image, int32_t x, int32_t y, int32_t z, uint32_t channel) {
  if ((x | y | z) < 0) return t->border[channel];
  return Channel(t, AddressOf(t, image, x, y, z), channel);
}

TUTTI_INLINE Texel FetchAll(const Texture* t, const Image& image, int32_t x, int32_t y, int32_t z) {
  return {Fetch(t, image, x, y, z, 0) | static_cast<uint64_t>(Fetch(t, image, x, y, z, 1)) << 32,
          Fetch(t, image, x, y, z, 2) | static_cast<uint64_t>(Fetch(t, image, x, y, z, 3)) << 32};
}

TUTTI_INLINE Texel Filter(const Texture* t, const Image& image, Footprint x, Footprint y, Footprint z,
                          uint32_t corners) {
  float r = 0, g = 0, b = 0, a = 0;
  for (uint32_t corner = 0; corner < corners; ++corner) {
    const bool sx = (corner & 1) != 0, sy = (corner & 2) != 0, sz = (corner & 4) != 0;
    const float weight =
        (sx ? x.weight : 1 - x.weight) * (sy ? y.weight : 1 - y.weight) * (sz ? z.weight : 1 - z.weight);
    if (weight == 0) continue;
    const int32_t i = sx ? x.second : x.first, j = sy ? y.second : y.first, k = sz ? z.second : z.first;
    r += weight * Float(Fetch(t, image, i, j, k, 0));
    g += weight * Float(Fetch(t, image, i, j, k, 1));
    b += weight * Float(Fetch(t, image, i, j, k, 2));
    a += weight * Float(Fetch(t, image, i, j, k, 3));
  }
  return {Bits(r) | static_cast<uint64_t>(Bits(g)) << 32, Bits(b) | static_cast<uint64_t>(Bits(a)) << 32};
}

TUTTI_INLINE Footprint Layer(const Image& image, uint32_t layer) {
  const uint32_t last = image.extent[2] - 1;
  const auto at = static_cast<int32_t>(layer < last ? layer : last);
  return {at, at, 0};
}

TUTTI_INLINE Texel Sample(const Texture* t, const Image& image, Footprint x, Footprint y, Footprint z,
                          uint32_t corners) {
  return t->linear != 0 ? Filter(t, image, x, y, z, corners) : FetchAll(t, image, x.first, y.first, z.first);
}

TUTTI_INLINE Footprint Sampled(const Texture* t, const Image& image, uint32_t axis, float x) {
  return FootprintOf(image.extent[axis], t->mode[axis], t->normalized != 0, x, t->linear != 0);
}

}  // namespace tutti::sampling
