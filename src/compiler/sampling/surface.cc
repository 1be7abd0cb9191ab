// Surface accesses: where in memory they are, and what formatted ones store. What the description says is not checked
// here, as for textures: the accesses are.
#include "compiler/sampling/image.h"

namespace tutti::sampling {
namespace {

// What an access does outside of the surface, as tutti_surface_put takes it.
enum class Outside : uint32_t { kTrap, kClamp, kIgnore };

struct Place {
  uint32_t x, y, z;  // x in units of its own
};

// 0, where no memory is, outside; with `clamp` the nearest place.
TUTTI_INLINE uint64_t AddressAt(const Texture* t, Place place, uint32_t last_x, uint32_t unit, bool clamp) {
  const uint32_t last[3] = {last_x, t->extent[1] - 1, t->extent[2] - 1};
  const uint32_t given[3] = {place.x, place.y, place.z};
  uint64_t at = t->address;
  const uint64_t stride[3] = {unit, t->row_bytes, t->plane_bytes};
  bool outside = false;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const bool below = static_cast<int32_t>(given[axis]) < 0;
    const bool beyond = given[axis] > last[axis];
    outside |= beyond;
    at += (below ? 0 : beyond ? last[axis] : given[axis]) * stride[axis];
  }
  return outside && !clamp ? 0 : at;
}

TUTTI_INLINE Place PlaceOf(uint32_t layer, int32_t x, int32_t y, int32_t z, uint32_t layered) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), layered != 0 ? layer : static_cast<uint32_t>(z)};
}

// A register's bits as a channel of the surface's format: integers that do not fit become the nearest that does.
TUTTI_INLINE uint32_t AsChannel(const Texture* t, uint32_t bits) {
  if (t->kind == TexelKind::kHalf) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(Float(bits)));
  }
  if (t->channel_bytes == 4) return bits;
  const uint32_t width = 8 * t->channel_bytes;
  if (t->kind == TexelKind::kSigned) {
    const int32_t most = static_cast<int32_t>(1u << (width - 1)) - 1, least = -most - 1;
    const auto number = static_cast<int32_t>(bits);
    return static_cast<uint32_t>(number < least ? least : number > most ? most : number);
  }
  const uint32_t most = (1u << width) - 1;
  return bits < most ? bits : most;
}

TUTTI_INLINE void Put(const Texture* t, uint64_t texel, uint32_t channel, uint32_t bits) {
  if (channel >= t->channels) return;
  const uint64_t address = texel + static_cast<uint64_t>(channel) * t->channel_bytes;
  const uint32_t value = AsChannel(t, bits);
  if (t->channel_bytes == 4) {
    *reinterpret_cast<uint32_t*>(address) = value;
  } else if (t->channel_bytes == 2) {
    *reinterpret_cast<uint16_t*>(address) = static_cast<uint16_t>(value);
  } else {
    *reinterpret_cast<uint8_t*>(address) = static_cast<uint8_t>(value);
  }
}

}  // namespace

// suld.b, sust.b and sured.b: the address of `bytes` of a surface; x counts bytes. Outside of it the nearest one, or 0,
// where no memory is.
TUTTI_SAMPLING uint64_t tutti_surface(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z,
                                      uint32_t layered, uint32_t bytes, uint32_t clamp) {
  const Texture* t = At(handle);
  return AddressAt(t, PlaceOf(layer, x, y, z, layered), t->extent[0] * t->texel_bytes - bytes, 1, clamp != 0);
}

// sured.p: the same of a texel; x counts texels.
TUTTI_SAMPLING uint64_t tutti_surface_texel(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z,
                                            uint32_t layered, uint32_t clamp) {
  const Texture* t = At(handle);
  return AddressAt(t, PlaceOf(layer, x, y, z, layered), t->extent[0] - 1, t->texel_bytes, clamp != 0);
}

// sust.p: a texel from the bits of `count` registers.
TUTTI_SAMPLING void tutti_surface_put(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z,
                                      uint32_t layered, uint32_t outside, uint32_t count, uint32_t r, uint32_t g,
                                      uint32_t b, uint32_t a) {
  const Texture* t = At(handle);
  const auto rule = static_cast<Outside>(outside);
  const uint64_t texel =
      AddressAt(t, PlaceOf(layer, x, y, z, layered), t->extent[0] - 1, t->texel_bytes, rule == Outside::kClamp);
  if (rule == Outside::kIgnore && texel == 0) return;
  Put(t, texel, 0, r);
  if (count > 1) Put(t, texel, 1, g);
  if (count > 2) Put(t, texel, 2, b);
  if (count > 3) Put(t, texel, 3, a);
}

}  // namespace tutti::sampling
