// Fetches from cube maps: a direction's face and the place on it, by the table of the programming guide; six planes of
// an image are the faces of one cube.
//
// A direction between faces belongs to z before y before x, as in the graphics interfaces. What linear filtering finds
// beyond a face's edge is by the address mode, so on the same face, or, in a seamless texture, on the face that
// adjoins: a texel beyond the edge is the one of that face's edge row at the same place. Three faces meet at a corner,
// where the fourth texel is the mean of the three that are.
#include "compiler/sampling/image.h"
#include "compiler/sampling/level.h"

namespace tutti::sampling {
namespace {

// These travel by reference: by value, clang makes vectors of structures of floats.
struct Direction {
  float x, y, z;
};

// A place on a face is s / m and t / m, from -1 to 1.
struct OnFace {
  float s, t, m;
};

TUTTI_INLINE float Magnitude(float x) { return __builtin_fabsf(x); }

TUTTI_INLINE uint32_t FaceOf(const Direction& d) {
  const float x = Magnitude(d.x), y = Magnitude(d.y), z = Magnitude(d.z);
  if (z >= x && z >= y) return d.z < 0 ? 5 : 4;
  if (y >= x) return d.y < 0 ? 3 : 2;
  return d.x < 0 ? 1 : 0;
}

TUTTI_INLINE void Project(uint32_t face, const Direction& d, OnFace* at) {
  at->s = face == 0 ? -d.z : face == 1 ? d.z : face == 5 ? -d.x : d.x;
  at->t = face == 2 ? d.z : face == 3 ? -d.z : -d.y;
  const float m = face < 2 ? d.x : face < 4 ? d.y : d.z;
  at->m = (face & 1) != 0 ? -m : m;
}

// The direction that Project makes `at` of.
TUTTI_INLINE void Unproject(uint32_t face, const OnFace& at, Direction* d) {
  const float m = (face & 1) != 0 ? -at.m : at.m;
  d->x = face < 2 ? m : face == 5 ? -at.s : at.s;
  d->y = face == 2 || face == 3 ? m : -at.t;
  d->z = face == 0 ? -at.s : face == 1 ? at.s : face == 2 ? at.t : face == 3 ? -at.t : m;
}

struct Place {
  uint32_t face;
  float x, y;  // from 0 to 1
};

TUTTI_INLINE float FromZeroToOne(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }  // NaN as well

TUTTI_INLINE void Locate(const Direction& d, Place* place) {
  OnFace at;
  place->face = FaceOf(d);
  Project(place->face, d, &at);
  place->x = FromZeroToOne((at.s / at.m + 1) * 0.5f);
  place->y = FromZeroToOne((at.t / at.m + 1) * 0.5f);
}

// The first plane of a cube; as with layers, the last one instead of one that is not.
TUTTI_INLINE uint32_t FirstPlane(const Image& image, uint32_t layer) {
  const uint32_t cubes = image.extent[2] / 6;
  return (layer < cubes ? layer : cubes == 0 ? 0 : cubes - 1) * 6;
}

TUTTI_INLINE int32_t Within(int32_t i, int32_t size) { return i < 0 ? 0 : i < size ? i : size - 1; }

// Beyond what the client makes, so that a forged description leads to no overflow.
constexpr uint32_t kMostOfAFace = 1 << 20;

// Column i and row j of a face of n texels, one of them perhaps one texel outside. Doubled, so that the centres of
// texels are whole numbers, a face's middle is 0 and its edge n; beyond it, n + 1 makes that axis the longest.
TUTTI_INLINE uint32_t AcrossTheEdge(uint32_t face, int32_t n, int32_t* i, int32_t* j) {
  const auto doubled = [n](int32_t k) { return static_cast<float>(2 * k + 1 - n); };
  const auto texel = [n](float k) { return Within((static_cast<int32_t>(k) + n - 1) >> 1, n); };
  OnFace at = {doubled(*i), doubled(*j), static_cast<float>(n)};
  Direction d;
  Unproject(face, at, &d);
  const uint32_t other = FaceOf(d);
  Project(other, d, &at);
  *i = texel(at.s);
  *j = texel(at.t);
  return other;
}

TUTTI_INLINE Texel FilterSeamless(const Texture* t, const Image& image, uint32_t plane, const Place& place) {
  const auto n = static_cast<int32_t>(image.extent[0] < kMostOfAFace ? image.extent[0] : kMostOfAFace);
  // Neither coordinate leaves the face, so the four texels leave it by one at most.
  const float x = place.x * static_cast<float>(n) - 0.5f, y = place.y * static_cast<float>(n) - 0.5f;
  const float column = __builtin_floorf(x), row = __builtin_floorf(y);
  const auto i = static_cast<int32_t>(column), j = static_cast<int32_t>(row);
  const float right = RoundedTo8Bits(x - column), lower = RoundedTo8Bits(y - row);
  const float beyond_x = i < 0 ? 1 - right : i + 1 >= n ? right : 0;
  const float beyond_y = j < 0 ? 1 - lower : j + 1 >= n ? lower : 0;
  const float share = beyond_x * beyond_y / 3;  // of the texel that is not
  float r = 0, g = 0, b = 0, a = 0;
  for (uint32_t corner = 0; corner < 4; ++corner) {
    const bool sx = (corner & 1) != 0, sy = (corner & 2) != 0;
    int32_t at_x = sx ? i + 1 : i, at_y = sy ? j + 1 : j;
    const bool outside_x = at_x < 0 || at_x >= n, outside_y = at_y < 0 || at_y >= n;
    if (outside_x && outside_y) continue;
    const float weight = (sx ? right : 1 - right) * (sy ? lower : 1 - lower) + share;
    uint32_t face = place.face;
    if (outside_x || outside_y) face = AcrossTheEdge(face, n, &at_x, &at_y);
    const auto at_z = static_cast<int32_t>(plane + face);
    r += weight * Float(Fetch(t, image, at_x, at_y, at_z, 0));
    g += weight * Float(Fetch(t, image, at_x, at_y, at_z, 1));
    b += weight * Float(Fetch(t, image, at_x, at_y, at_z, 2));
    a += weight * Float(Fetch(t, image, at_x, at_y, at_z, 3));
  }
  return {Bits(r) | static_cast<uint64_t>(Bits(g)) << 32, Bits(b) | static_cast<uint64_t>(Bits(a)) << 32};
}

TUTTI_INLINE Texel SampleCube(const Texture* t, const Image& image, uint32_t layer, const Direction& d) {
  Place place;
  Locate(d, &place);
  const uint32_t plane = FirstPlane(image, layer);
  const bool between = t->linear != 0;
  if (between && t->seamless != 0) return FilterSeamless(t, image, plane, place);
  return Sample(t, image, FootprintOf(image.extent[0], t->mode[0], true, place.x, between),
                FootprintOf(image.extent[1], t->mode[1], true, place.y, between), Layer(image, plane + place.face), 4);
}

// The square of how far, in texels of the first level, the place of `d` moves on its face as the direction changes.
TUTTI_INLINE float SquareOnFace(const Texture* t, const Direction& d, const Direction& change) {
  const uint32_t face = FaceOf(d);
  OnFace at, by;
  Project(face, d, &at);
  Project(face, change, &by);
  const float scale = 0.5f * AsFloat(t->extent[0]) / (at.m * at.m);
  const float x = scale * (by.s * at.m - at.s * by.m), y = scale * (by.t * at.m - at.t * by.m);
  return x * x + y * y;
}

}  // namespace

// tex.{cube,acube}. Without layers `layer` is 0.
TUTTI_SAMPLING Texel tutti_texture_cube(uint64_t handle, uint32_t layer, float x, float y, float z) {
  const Texture* t = At(handle);
  return SampleCube(t, FirstLevel(t), layer, {x, y, z});
}
TUTTI_SAMPLING Texel tutti_texture_level_cube(uint64_t handle, uint32_t layer, float x, float y, float z, float level) {
  const Texture* t = At(handle);
  return AtLevel(t, level, false, [=](const Image& image) { return SampleCube(t, image, layer, {x, y, z}); });
}
TUTTI_SAMPLING Texel tutti_texture_grad_cube(uint64_t handle, uint32_t layer, float x, float y, float z, float dx,
                                             float dy, float dz, float ex, float ey, float ez) {
  const Texture* t = At(handle);
  const Direction d = {x, y, z};
  const float level = LevelFor(SquareOnFace(t, d, {dx, dy, dz}), SquareOnFace(t, d, {ex, ey, ez}));
  return tutti_texture_level_cube(handle, layer, x, y, z, level);
}

}  // namespace tutti::sampling
