// Texture fetches, in C++: compiled to scalar LLVM IR when Tutti is built, and linked with kernels before they are
// widened (sampling.h). To widening a fetch is a few more lines of the kernel, and all its loads, of the description as
// of texels, are checked like the kernel's own. So this code need not check what the handle points to.
//
// Linear filtering follows the programming guide: texel centres lie at .5, and the fraction between two texels is
// rounded to 8 bits as in hardware, since programs compare with stored results.
#include "guest/texture.h"

#define TUTTI_SAMPLING extern "C" __attribute__((visibility("default"), nothrow, always_inline))
#define TUTTI_INLINE static inline __attribute__((always_inline))

namespace {

using tutti::guest::AddressMode;
using tutti::guest::TexelKind;
using tutti::guest::Texture;

// Four results of 32 bits, as a kernel's registers take them.
struct Texel {
  uint64_t xy, zw;
};

// Where a coordinate falls on one axis: between two texels. -1: on the border.
struct Footprint {
  int32_t first, second;
  float weight;  // of the second
};

constexpr float kFarthest = 1 << 30;

TUTTI_INLINE int32_t Inside(int32_t i, uint32_t extent, AddressMode mode) {
  if (static_cast<uint32_t>(i) < extent) return i;
  const auto size = static_cast<int32_t>(extent);
  if (mode == AddressMode::kBorder) return -1;
  if (mode == AddressMode::kWrap)
    return i < 0 ? i + size : i - size;  // normalised coordinates: one texel outside at most
  return i < 0 ? 0 : size - 1;
}

// `between`: the two texels whose centres enclose x; otherwise the first is the one that contains x.
TUTTI_INLINE Footprint FootprintOf(const Texture* t, uint32_t axis, float x, bool between) {
  const uint32_t extent = t->extent[axis];
  const AddressMode mode = t->mode[axis];
  if (t->normalized != 0) {
    if (mode == AddressMode::kWrap) x -= __builtin_floorf(x);
    if (mode == AddressMode::kMirror) {
      x -= 2 * __builtin_floorf(x * 0.5f);
      x = x > 1 ? 2 - x : x;
    }
    x *= static_cast<float>(static_cast<int32_t>(extent));
  }
  x = x > -kFarthest ? x : -kFarthest;  // NaN as well
  x = x < kFarthest ? x : kFarthest;
  if (between) x -= 0.5f;
  const float floor = __builtin_floorf(x);
  const auto i = static_cast<int32_t>(floor);
  return {Inside(i, extent, mode), Inside(i + 1, extent, mode), __builtin_floorf((x - floor) * 256 + 0.5f) / 256};
}

TUTTI_INLINE uint32_t Bits(float x) { return __builtin_bit_cast(uint32_t, x); }
TUTTI_INLINE float Float(uint32_t x) { return __builtin_bit_cast(float, x); }

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
  if (t->kind == TexelKind::kUnsignedFraction) return Bits(static_cast<float>(static_cast<int32_t>(bits)) / t->divisor);
  const float fraction = static_cast<float>(number) / t->divisor;
  return Bits(fraction > -1 ? fraction : -1);
}

TUTTI_INLINE uint64_t AddressOf(const Texture* t, int32_t x, int32_t y, int32_t z) {
  return t->address + static_cast<uint64_t>(static_cast<uint32_t>(z)) * t->plane_bytes +
         static_cast<uint64_t>(static_cast<uint32_t>(y)) * t->row_bytes +
         static_cast<uint64_t>(static_cast<uint32_t>(x)) * t->texel_bytes;
}

TUTTI_INLINE uint32_t Fetch(const Texture* t, int32_t x, int32_t y, int32_t z, uint32_t channel) {
  if ((x | y | z) < 0) return t->border[channel];
  return Channel(t, AddressOf(t, x, y, z), channel);
}

TUTTI_INLINE Texel FetchAll(const Texture* t, int32_t x, int32_t y, int32_t z) {
  return {Fetch(t, x, y, z, 0) | static_cast<uint64_t>(Fetch(t, x, y, z, 1)) << 32,
          Fetch(t, x, y, z, 2) | static_cast<uint64_t>(Fetch(t, x, y, z, 3)) << 32};
}

TUTTI_INLINE Texel Filter(const Texture* t, Footprint x, Footprint y, Footprint z, uint32_t corners) {
  float r = 0, g = 0, b = 0, a = 0;
  for (uint32_t corner = 0; corner < corners; ++corner) {
    const bool sx = (corner & 1) != 0, sy = (corner & 2) != 0, sz = (corner & 4) != 0;
    const float weight =
        (sx ? x.weight : 1 - x.weight) * (sy ? y.weight : 1 - y.weight) * (sz ? z.weight : 1 - z.weight);
    if (weight == 0) continue;
    const int32_t i = sx ? x.second : x.first, j = sy ? y.second : y.first, k = sz ? z.second : z.first;
    r += weight * Float(Fetch(t, i, j, k, 0));
    g += weight * Float(Fetch(t, i, j, k, 1));
    b += weight * Float(Fetch(t, i, j, k, 2));
    a += weight * Float(Fetch(t, i, j, k, 3));
  }
  return {Bits(r) | static_cast<uint64_t>(Bits(g)) << 32, Bits(b) | static_cast<uint64_t>(Bits(a)) << 32};
}

TUTTI_INLINE Footprint Layer(const Texture* t, uint32_t layer) {
  const uint32_t last = t->extent[2] - 1;
  const auto at = static_cast<int32_t>(layer < last ? layer : last);
  return {at, at, 0};
}

TUTTI_INLINE Texel Sample(const Texture* t, Footprint x, Footprint y, Footprint z, uint32_t corners) {
  return t->linear != 0 ? Filter(t, x, y, z, corners) : FetchAll(t, x.first, y.first, z.first);
}

TUTTI_INLINE Footprint Sampled(const Texture* t, uint32_t axis, float x) {
  return FootprintOf(t, axis, x, t->linear != 0);
}

TUTTI_INLINE const Texture* At(uint64_t handle) { return reinterpret_cast<const Texture*>(handle); }

}  // namespace

// tex.{1d,a1d,2d,a2d,3d} with coordinates of .f32. Without layers `layer` is 0.
TUTTI_SAMPLING Texel tutti_texture_1d(uint64_t handle, uint32_t layer, float x) {
  const Texture* t = At(handle);
  return Sample(t, Sampled(t, 0, x), {0, 0, 0}, Layer(t, layer), 2);
}
TUTTI_SAMPLING Texel tutti_texture_2d(uint64_t handle, uint32_t layer, float x, float y) {
  const Texture* t = At(handle);
  return Sample(t, Sampled(t, 0, x), Sampled(t, 1, y), Layer(t, layer), 4);
}
TUTTI_SAMPLING Texel tutti_texture_3d(uint64_t handle, uint32_t, float x, float y, float z) {
  const Texture* t = At(handle);
  return Sample(t, Sampled(t, 0, x), Sampled(t, 1, y), Sampled(t, 2, z), 8);
}

// With coordinates of .s32: texels by their number, never filtered.
TUTTI_SAMPLING Texel tutti_texel(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z, uint32_t layered) {
  const Texture* t = At(handle);
  return FetchAll(t, Inside(x, t->extent[0], t->mode[0]), Inside(y, t->extent[1], t->mode[1]),
                  layered != 0 ? Layer(t, layer).first : Inside(z, t->extent[2], t->mode[2]));
}

// tld4: one channel of the four texels that linear filtering mixes there, whether or not the texture is filtered,
// counter-clockwise from the lower left.
TUTTI_SAMPLING Texel tutti_texture_gather(uint64_t handle, uint32_t layer, float x, float y, uint32_t channel) {
  const Texture* t = At(handle);
  const Footprint i = FootprintOf(t, 0, x, true), j = FootprintOf(t, 1, y, true), k = Layer(t, layer);
  return {Fetch(t, i.first, j.second, k.first, channel) |
              static_cast<uint64_t>(Fetch(t, i.second, j.second, k.first, channel)) << 32,
          Fetch(t, i.second, j.first, k.first, channel) |
              static_cast<uint64_t>(Fetch(t, i.first, j.first, k.first, channel)) << 32};
}

// suld and sust: the address of `bytes` of a surface; x counts bytes. Outside of it the nearest one, or 0, where no
// memory is.
TUTTI_SAMPLING uint64_t tutti_surface(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z,
                                      uint32_t layered, uint32_t bytes, uint32_t clamp) {
  const Texture* t = At(handle);
  const uint32_t last[3] = {t->extent[0] * t->texel_bytes - bytes, t->extent[1] - 1, t->extent[2] - 1};
  const uint32_t given[3] = {static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                             layered != 0 ? layer : static_cast<uint32_t>(z)};
  uint64_t at = t->address;
  const uint64_t stride[3] = {1, t->row_bytes, t->plane_bytes};
  bool outside = false;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const bool below = static_cast<int32_t>(given[axis]) < 0;
    const bool beyond = given[axis] > last[axis];
    outside |= beyond;
    at += (below ? 0 : beyond ? last[axis] : given[axis]) * stride[axis];
  }
  return outside && clamp == 0 ? 0 : at;
}
