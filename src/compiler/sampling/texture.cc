// Texture fetches, in C++: compiled to scalar LLVM IR when Tutti is built, and linked with kernels before they are
// widened (sampling.h). To widening a fetch is a few more lines of the kernel, and all its loads, of the description as
// of texels, are checked like the kernel's own. So this code need not check what the handle points to.
#include "compiler/sampling/image.h"
#include "compiler/sampling/level.h"

namespace tutti::sampling {
namespace {

TUTTI_INLINE Texel Sample1D(const Texture* t, const Image& image, uint32_t layer, float x) {
  return Sample(t, image, Sampled(t, image, 0, x), {0, 0, 0}, Layer(image, layer), 2);
}
TUTTI_INLINE Texel Sample2D(const Texture* t, const Image& image, uint32_t layer, float x, float y) {
  return Sample(t, image, Sampled(t, image, 0, x), Sampled(t, image, 1, y), Layer(image, layer), 4);
}
TUTTI_INLINE Texel Sample3D(const Texture* t, const Image& image, float x, float y, float z) {
  return Sample(t, image, Sampled(t, image, 0, x), Sampled(t, image, 1, y), Sampled(t, image, 2, z), 8);
}

}  // namespace

// tex.{1d,a1d,2d,a2d,3d} with coordinates of .f32. Without layers `layer` is 0.
TUTTI_SAMPLING Texel tutti_texture_1d(uint64_t handle, uint32_t layer, float x) {
  const Texture* t = At(handle);
  return Sample1D(t, FirstLevel(t), layer, x);
}
TUTTI_SAMPLING Texel tutti_texture_2d(uint64_t handle, uint32_t layer, float x, float y) {
  const Texture* t = At(handle);
  return Sample2D(t, FirstLevel(t), layer, x, y);
}
TUTTI_SAMPLING Texel tutti_texture_3d(uint64_t handle, uint32_t, float x, float y, float z) {
  const Texture* t = At(handle);
  return Sample3D(t, FirstLevel(t), x, y, z);
}

// tex.level
TUTTI_SAMPLING Texel tutti_texture_level_1d(uint64_t handle, uint32_t layer, float x, float level) {
  const Texture* t = At(handle);
  return AtLevel(t, level, false, [=](const Image& image) { return Sample1D(t, image, layer, x); });
}
TUTTI_SAMPLING Texel tutti_texture_level_2d(uint64_t handle, uint32_t layer, float x, float y, float level) {
  const Texture* t = At(handle);
  return AtLevel(t, level, false, [=](const Image& image) { return Sample2D(t, image, layer, x, y); });
}
TUTTI_SAMPLING Texel tutti_texture_level_3d(uint64_t handle, uint32_t, float x, float y, float z, float level) {
  const Texture* t = At(handle);
  return AtLevel(t, level, true, [=](const Image& image) { return Sample3D(t, image, x, y, z); });
}

// tex.grad: how x, y and z change from thread to thread of a row, and from row to row.
TUTTI_SAMPLING Texel tutti_texture_grad_1d(uint64_t handle, uint32_t layer, float x, float dx, float ex) {
  const Texture* t = At(handle);
  return tutti_texture_level_1d(handle, layer, x, LevelFor(Square(t, 0, dx), Square(t, 0, ex)));
}
TUTTI_SAMPLING Texel tutti_texture_grad_2d(uint64_t handle, uint32_t layer, float x, float y, float dx, float dy,
                                           float ex, float ey) {
  const Texture* t = At(handle);
  const float level = LevelFor(Square(t, 0, dx) + Square(t, 1, dy), Square(t, 0, ex) + Square(t, 1, ey));
  return tutti_texture_level_2d(handle, layer, x, y, level);
}
TUTTI_SAMPLING Texel tutti_texture_grad_3d(uint64_t handle, uint32_t layer, float x, float y, float z, float dx,
                                           float dy, float dz, float ex, float ey, float ez) {
  const Texture* t = At(handle);
  const float level = LevelFor(Square(t, 0, dx) + Square(t, 1, dy) + Square(t, 2, dz),
                               Square(t, 0, ex) + Square(t, 1, ey) + Square(t, 2, ez));
  return tutti_texture_level_3d(handle, layer, x, y, z, level);
}

// With coordinates of .s32: texels by their number, never filtered.
TUTTI_SAMPLING Texel tutti_texel(uint64_t handle, uint32_t layer, int32_t x, int32_t y, int32_t z, uint32_t layered) {
  const Texture* t = At(handle);
  const Image image = FirstLevel(t);
  return FetchAll(t, image, Inside(x, t->extent[0], t->mode[0]), Inside(y, t->extent[1], t->mode[1]),
                  layered != 0 ? Layer(image, layer).first : Inside(z, t->extent[2], t->mode[2]));
}

// tld4: one channel of the four texels that linear filtering mixes there, whether or not the texture is filtered,
// counter-clockwise from the lower left.
TUTTI_SAMPLING Texel tutti_texture_gather(uint64_t handle, uint32_t layer, float x, float y, uint32_t channel) {
  const Texture* t = At(handle);
  const Image image = FirstLevel(t);
  const bool normalized = t->normalized != 0;
  const Footprint i = FootprintOf(t->extent[0], t->mode[0], normalized, x, true);
  const Footprint j = FootprintOf(t->extent[1], t->mode[1], normalized, y, true);
  const Footprint k = Layer(image, layer);
  return {Fetch(t, image, i.first, j.second, k.first, channel) |
              static_cast<uint64_t>(Fetch(t, image, i.second, j.second, k.first, channel)) << 32,
          Fetch(t, image, i.second, j.first, k.first, channel) |
              static_cast<uint64_t>(Fetch(t, image, i.first, j.first, k.first, channel)) << 32};
}

}  // namespace tutti::sampling
