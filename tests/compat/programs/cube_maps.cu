// Cube maps, layered ones and mipmapped ones: which face a direction meets and where, what lies beyond a face's edge, and
// surfaces, against a model on the host after the table of the programming guide.
#include <algorithm>
#include <cmath>
#include <vector>

#include "program.h"

constexpr int kSize = 8, kCubes = 3, kQueries = 512;

struct Query {
  float3 at;
  int layer;
  float level;
  float4 by_x, by_y;
};

enum Form { kPlain, kLayered, kLevel, kLayeredLevel, kGradients, kLayeredGradients };

__global__ void Sample(Form form, cudaTextureObject_t t, const Query* queries, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Query q = queries[i];
  float value = -1;
  if (form == kPlain) value = texCubemap<float>(t, q.at.x, q.at.y, q.at.z);
  if (form == kLayered) value = texCubemapLayered<float>(t, q.at.x, q.at.y, q.at.z, q.layer);
  if (form == kLevel) value = texCubemapLod<float>(t, q.at.x, q.at.y, q.at.z, q.level);
  if (form == kLayeredLevel) value = texCubemapLayeredLod<float>(t, q.at.x, q.at.y, q.at.z, q.layer, q.level);
  if (form == kGradients) value = texCubemapGrad<float>(t, q.at.x, q.at.y, q.at.z, q.by_x, q.by_y);
  if (form == kLayeredGradients)
    value = texCubemapLayeredGrad<float>(t, q.at.x, q.at.y, q.at.z, q.layer, q.by_x, q.by_y);
  out[i] = value;
}
__global__ void Count(cudaSurfaceObject_t cube) {
  const int face = blockIdx.x;
  const float old = surfCubemapread<float>(cube, threadIdx.x * 4, threadIdx.y, face);
  surfCubemapwrite(old + 1000, cube, threadIdx.x * 4, threadIdx.y, face);
}
__global__ void CountLayered(cudaSurfaceObject_t cubes) {
  const float old = surfCubemapLayeredread<float>(cubes, threadIdx.x * 4, threadIdx.y, blockIdx.x);
  surfCubemapLayeredwrite(old + 2000, cubes, threadIdx.x * 4, threadIdx.y, blockIdx.x);
}

// Every texel another number: plane, row, column.
float Texel(int level, int plane, int x, int y) { return 5000.0f * level + 64.0f * plane + ((y * kSize + x) * 29) % 61; }

std::vector<float> Texels(int level, int planes) {
  const int size = kSize >> level;
  std::vector<float> texels;
  for (int plane = 0; plane < planes; ++plane) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) texels.push_back(Texel(level, plane, x, y));
    }
  }
  return texels;
}
cudaMemcpy3DParms Planes(int size, int planes) {
  cudaMemcpy3DParms copy{};
  copy.extent = make_cudaExtent(size, size, planes);
  return copy;
}
void Fill(cudaArray_t array, int level, int planes) {
  std::vector<float> texels = Texels(level, planes);
  const int size = kSize >> level;
  cudaMemcpy3DParms copy = Planes(size, planes);
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), size * 4, size, size);
  copy.dstArray = array;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
}
cudaArray_t MakeCubes(int planes, unsigned flags) {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(kSize, kSize, planes), flags | cudaArrayCubemap));
  Fill(array, 0, planes);
  return array;
}

// The model. A face's column and row of a direction, from 0 to 1.
struct Place {
  int face;
  double x, y;
};
Place PlaceOf(double x, double y, double z) {
  const double ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  int face;
  double m, s, t;
  if (ax > ay && ax > az) {
    face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
  } else if (ay > ax && ay > az) {
    face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}
// A direction to a place of a face, which may lie a little outside.
void DirectionTo(const Place& p, double* x, double* y, double* z) {
  const double s = 2 * p.x - 1, t = 2 * p.y - 1;
  const double directions[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
  *x = directions[p.face][0], *y = directions[p.face][1], *z = directions[p.face][2];
}
double OfLevel(const Query& q, int layer, int level, bool linear, bool seamless) {
  const int size = kSize >> level;
  const Place p = PlaceOf(q.at.x, q.at.y, q.at.z);
  const auto nearest = [&](const Place& at) {
    return Texel(level, 6 * layer + at.face, std::min(int(at.x * size), size - 1), std::min(int(at.y * size), size - 1));
  };
  if (!linear) return nearest(p);
  const double x = p.x * size - 0.5, y = p.y * size - 0.5;
  const auto rounded = [](double w) { return std::floor(w * 256 + 0.5) / 256; };
  const double wx = rounded(x - std::floor(x)), wy = rounded(y - std::floor(y));
  double sum = 0, there = 0;
  for (int c = 0; c < 4; ++c) {
    int i = int(std::floor(x)) + (c & 1), j = int(std::floor(y)) + (c >> 1);
    const double weight = (c & 1 ? wx : 1 - wx) * (c >> 1 ? wy : 1 - wy);
    const bool out_x = i < 0 || i >= size, out_y = j < 0 || j >= size;
    if (!seamless || (!out_x && !out_y)) {
      sum += weight * Texel(level, 6 * layer + p.face, std::min(std::max(i, 0), size - 1),
                            std::min(std::max(j, 0), size - 1));
      there += weight;
    } else if (!(out_x && out_y)) {
      // Just beyond the edge, at the height of that texel's middle.
      const double tiny = 1e-9;
      const Place beyond{p.face, i < 0 ? -tiny : i >= size ? 1 + tiny : (i + 0.5) / size,
                         j < 0 ? -tiny : j >= size ? 1 + tiny : (j + 0.5) / size};
      double dx, dy, dz;
      DirectionTo(beyond, &dx, &dy, &dz);
      sum += weight * nearest(PlaceOf(dx, dy, dz));
      there += weight;
    }
  }
  if (there == 1) return sum;  // exact: weights have 8 bits
  // At a corner the fourth texel is the mean of the other three.
  double mean = 0;
  for (int c = 0; c < 4; ++c) {
    const int i = int(std::floor(x)) + (c & 1), j = int(std::floor(y)) + (c >> 1);
    const bool out_x = i < 0 || i >= size, out_y = j < 0 || j >= size;
    if (out_x && out_y) continue;
    const Place at{p.face, i < 0 ? -1e-9 : i >= size ? 1 + 1e-9 : (i + 0.5) / size,
                   j < 0 ? -1e-9 : j >= size ? 1 + 1e-9 : (j + 0.5) / size};
    double dx, dy, dz;
    DirectionTo(at, &dx, &dy, &dz);
    mean += nearest(PlaceOf(dx, dy, dz)) / 3;
  }
  return sum + (1 - there) * mean;
}

// How far the place on the face moves, in texels, by a small part of the change.
double Length(const Query& q, const float4& by) {
  const double part = 1e-6;
  const Place from = PlaceOf(q.at.x, q.at.y, q.at.z);
  const Place to = PlaceOf(q.at.x + part * by.x, q.at.y + part * by.y, q.at.z + part * by.z);
  return from.face == to.face ? std::hypot(to.x - from.x, to.y - from.y) * kSize / part : -1;
}

std::vector<Query> Queries() {
  std::vector<Query> queries;
  for (int i = 0; i < kQueries; ++i) {
    // All around, at distances that do not matter; some near corners and edges.
    const double height = -0.99 + 1.98 * i / kQueries, turn = 2.399963 * i, far = 0.1 + (i % 7);
    float3 at = make_float3(float(far * std::sqrt(1 - height * height) * std::cos(turn)), float(far * height),
                            float(far * std::sqrt(1 - height * height) * std::sin(turn)));
    if (i % 4 == 0) at = make_float3(i & 4 ? 1 : -1, (i & 8 ? 1 : -1) * 0.97f, (i & 16 ? 1 : -1) * (0.9f + 0.0002f * i));
    if (i % 4 == 1) at = make_float3((i & 4 ? 1 : -1) * 0.98f, (i & 8 ? 1 : -1) * (0.001f * i), i & 16 ? 1 : -1);
    const float change = std::exp2(-5 + 0.011f * i);
    queries.push_back({at, i % kCubes, -0.5f + (i % 64) / 16.0f + 1 / 32.0f, make_float4(change, -0.3f * change, 0.1f, 0),
                       make_float4(0, 0.2f * change, change, 0)});
  }
  return queries;
}

const std::vector<Query> queries = Queries();
Query* device_queries;
float* device_out;

cudaTextureDesc Sampling(bool linear, bool seamless) {
  cudaTextureDesc d{};
  for (auto& axis : d.addressMode) axis = seamless ? cudaAddressModeBorder : cudaAddressModeClamp;
  d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  d.normalizedCoords = 1;
  d.seamlessCubemap = seamless;
  d.maxMipmapLevelClamp = 10;
  return d;
}

void Check(Form form, const cudaResourceDesc& resource, bool linear, bool seamless, int levels) {
  const cudaTextureDesc d = Sampling(linear, seamless);
  cudaTextureObject_t texture;
  CUDA(cudaCreateTextureObject(&texture, &resource, &d, nullptr));
  Sample<<<4, kQueries / 4>>>(form, texture, device_queries, device_out);
  std::vector<float> results(kQueries);
  CUDA(cudaMemcpy(results.data(), device_out, kQueries * sizeof(float), cudaMemcpyDeviceToHost));
  const bool layered = form == kLayered || form == kLayeredLevel || form == kLayeredGradients;
  int wrong = 0, checked = 0;
  for (int i = 0; i < kQueries; ++i) {
    const Query& q = queries[i];
    double level = 0;
    if (form == kLevel || form == kLayeredLevel) level = q.level;
    if (form == kGradients || form == kLayeredGradients) {
      const double a = Length(q, q.by_x), b = Length(q, q.by_y);
      level = std::log2(std::max(a, b));
      const double fraction = level - std::floor(level);
      if (a < 0 || b < 0 || std::fabs(fraction - 0.5) < 0.01) continue;  // near another face, or midway between levels
    }
    ++checked;
    const int nearest = std::min(std::max(int(std::floor(level + 0.5)), 0), levels - 1);
    const double expected = OfLevel(q, layered ? q.layer : 0, nearest, linear, seamless);
    // A weight may be rounded to the next of 8 bits on each axis; texels of a cube differ by 380 at most.
    if (!(std::fabs(results[i] - expected) <= (linear ? (seamless ? 3.0 : 0.5) : 1e-3))) {
      if (++wrong == 1)
        std::fprintf(stderr, "form %d, linear %d, seamless %d: query %d (%f %f %f), level %f: %f, not %f\n", form, linear,
                     seamless, i, q.at.x, q.at.y, q.at.z, level, results[i], expected);
    }
  }
  CHECK_EQ(wrong, 0);
  CHECK_EQ(checked > kQueries / 2, true);
  CUDA(cudaDestroyTextureObject(texture));
}

cudaResourceDesc Of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

void CheckMipmaps(int planes, Form level, Form gradients, unsigned flags) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA(cudaMallocMipmappedArray(&resource.res.mipmap.mipmap, &format, make_cudaExtent(kSize, kSize, planes), 99,
                                flags | cudaArrayCubemap));
  for (int i = 0; i < 4; ++i) {
    cudaArray_t array;
    CUDA(cudaGetMipmappedArrayLevel(&array, resource.res.mipmap.mipmap, i));
    Fill(array, i, planes);
  }
  for (const bool linear : {false, true}) {
    for (const bool seamless : {false, true}) {
      Check(level, resource, linear, seamless, 4);
      Check(gradients, resource, linear, seamless, 4);
    }
  }
  CUDA(cudaFreeMipmappedArray(resource.res.mipmap.mipmap));
}

void CheckSurface(cudaArray_t array, int planes, bool layered) {
  const cudaResourceDesc resource = Of(array);
  cudaSurfaceObject_t surface;
  CUDA(cudaCreateSurfaceObject(&surface, &resource));
  (layered ? CountLayered : Count)<<<planes, dim3(kSize, kSize)>>>(surface);
  std::vector<float> out(planes * kSize * kSize), expected = Texels(0, planes);
  cudaMemcpy3DParms copy = Planes(kSize, planes);
  copy.srcArray = array;
  copy.dstPtr = make_cudaPitchedPtr(out.data(), kSize * 4, kSize, kSize);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  for (float& each : expected) each += layered ? 2000 : 1000;
  CHECK_EQ(out, expected);
}

void CheckRefusals() {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  const auto make = [&](int width, int height, int depth, unsigned flags) {
    return cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags | cudaArrayCubemap);
  };
  CHECK_EQ(make(8, 4, 6, 0), cudaErrorInvalidValue);
  CHECK_EQ(make(8, 8, 5, 0), cudaErrorInvalidValue);
  CHECK_EQ(make(8, 8, 12, 0), cudaErrorInvalidValue);
  CHECK_EQ(make(8, 8, 8, cudaArrayLayered), cudaErrorInvalidValue);
  CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 8, 0), 0));
  const cudaResourceDesc resource = Of(array);
  const cudaTextureDesc d = Sampling(true, true);
  cudaTextureObject_t texture;
  CHECK_EQ(cudaCreateTextureObject(&texture, &resource, &d, nullptr), cudaErrorInvalidValue);
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

int main() {
  CUDA(cudaMalloc(&device_queries, kQueries * sizeof(Query)));
  CUDA(cudaMemcpy(device_queries, queries.data(), kQueries * sizeof(Query), cudaMemcpyHostToDevice));
  CUDA(cudaMalloc(&device_out, kQueries * sizeof(float)));
  const cudaArray_t cube = MakeCubes(6, cudaArraySurfaceLoadStore);
  const cudaArray_t cubes = MakeCubes(6 * kCubes, cudaArrayLayered | cudaArraySurfaceLoadStore);
  for (const bool linear : {false, true}) {
    for (const bool seamless : {false, true}) {
      Check(kPlain, Of(cube), linear, seamless, 1);
      Check(kLayered, Of(cubes), linear, seamless, 1);
    }
  }
  CheckMipmaps(6, kLevel, kGradients, 0);
  CheckMipmaps(6 * kCubes, kLayeredLevel, kLayeredGradients, cudaArrayLayered);
  CheckSurface(cube, 6, false);
  CheckSurface(cubes, 6 * kCubes, true);
  CheckRefusals();
  return Verdict();
}
