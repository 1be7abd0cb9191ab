// Mipmapped arrays: every geometry, levels and gradients asked for, bias, limits and filters, against a model on the
// host after the formulas of the programming guide.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device_vector.h"
#include "program.h"

constexpr int kWidth = 32, kHeight = 12, kDepth = 6, kQueries = 256;
constexpr float kApart = 300;  // what lies between the texels of two levels

enum Geometry { k1D, k2D, k3D, k1DLayered, k2DLayered };

struct Query {
  float x, y, z;
  int layer;
  float level;
  float4 by_x, by_y;
};

__global__ void Levels(Geometry geometry, cudaTextureObject_t t, const Query* queries, float* out) {
  const Query q = queries[threadIdx.x];
  float value = -1;
  if (geometry == k1D) value = tex1DLod<float>(t, q.x, q.level);
  if (geometry == k2D) value = tex2DLod<float>(t, q.x, q.y, q.level);
  if (geometry == k3D) value = tex3DLod<float>(t, q.x, q.y, q.z, q.level);
  if (geometry == k1DLayered) value = tex1DLayeredLod<float>(t, q.x, q.layer, q.level);
  if (geometry == k2DLayered) value = tex2DLayeredLod<float>(t, q.x, q.y, q.layer, q.level);
  out[threadIdx.x] = value;
}
__global__ void Gradients(Geometry geometry, cudaTextureObject_t t, const Query* queries, float* out) {
  const Query q = queries[threadIdx.x];
  const float2 a = make_float2(q.by_x.x, q.by_x.y), b = make_float2(q.by_y.x, q.by_y.y);
  float value = -1;
  if (geometry == k1D) value = tex1DGrad<float>(t, q.x, a.x, b.x);
  if (geometry == k2D) value = tex2DGrad<float>(t, q.x, q.y, a, b);
  if (geometry == k3D) value = tex3DGrad<float>(t, q.x, q.y, q.z, q.by_x, q.by_y);
  if (geometry == k1DLayered) value = tex1DLayeredGrad<float>(t, q.x, q.layer, a.x, b.x);
  if (geometry == k2DLayered) value = tex2DLayeredGrad<float>(t, q.x, q.y, q.layer, a, b);
  out[threadIdx.x] = value;
}
__global__ void FirstLevels(cudaTextureObject_t t, const Query* queries, float* out) {
  out[threadIdx.x] = tex2D<float>(t, queries[threadIdx.x].x, queries[threadIdx.x].y);
}
__global__ void Colours(cudaTextureObject_t t, const Query* queries, float4* out) {
  const Query q = queries[threadIdx.x];
  out[threadIdx.x] = tex2DLod<float4>(t, q.x, q.y, q.level);
}
__global__ void Numbers(cudaTextureObject_t t, const Query* queries, int* out) {
  const Query q = queries[threadIdx.x];
  out[threadIdx.x] = tex2DLod<int>(t, q.x, q.y, q.level);
}
// The next level, as programs make it: the means of four texels each.
__global__ void Reduce(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float value = tex2D<float>(from, (x + 0.5f) / width, (y + 0.5f) / height);
  surf2Dwrite(value, to, x * 4, y);
}

// One level's texels.
struct Image {
  int width, height, depth;
  std::vector<float> texels;
  float At(int x, int y, int z) const { return texels[(z * height + y) * width + x]; }
};

struct Chain {
  Geometry geometry;
  cudaMipmappedArray_t array;
  std::vector<Image> levels;
  bool layered() const { return geometry == k1DLayered || geometry == k2DLayered; }
  int dimensions() const { return geometry == k1D || geometry == k1DLayered ? 1 : geometry == k3D ? 3 : 2; }
};

int Halved(int extent, int level) { return extent == 0 ? 0 : std::max(extent >> level, 1); }

void Fill(cudaArray_t array, const Image& image) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(image.texels.data()), image.width * 4, image.width, image.height);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(image.width, image.height, image.depth);
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
}

Chain MakeChain(Geometry geometry, unsigned asked, int expected) {
  Chain chain{geometry, nullptr, {}};
  const int height = chain.dimensions() > 1 ? kHeight : 0;
  const int depth = geometry == k3D || chain.layered() ? kDepth : 0;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA(cudaMallocMipmappedArray(&chain.array, &format, make_cudaExtent(kWidth, height, depth), asked,
                                chain.layered() ? cudaArrayLayered : 0));
  for (int number = 0; number < expected; ++number) {
    Image image{Halved(kWidth, number), std::max(Halved(height, number), 1),
                std::max(chain.layered() ? depth : Halved(depth, number), 1), {}};
    image.texels.resize(image.width * image.height * image.depth);
    for (size_t i = 0; i < image.texels.size(); ++i) image.texels[i] = kApart * number + (i * 37) % 101;
    cudaArray_t level;
    CUDA(cudaGetMipmappedArrayLevel(&level, chain.array, number));
    cudaExtent extent;
    CUDA(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    CHECK_EQ(extent.width, size_t(image.width));
    CHECK_EQ(extent.height, size_t(Halved(height, number)));
    Fill(level, image);
    chain.levels.push_back(image);
  }
  cudaArray_t beyond;
  CHECK_EQ(cudaGetMipmappedArrayLevel(&beyond, chain.array, expected), cudaErrorInvalidValue);
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  return chain;
}

cudaTextureDesc Sampling(cudaTextureAddressMode mode, bool linear, bool linear_levels, float most) {
  cudaTextureDesc description{};
  for (auto& axis : description.addressMode) axis = mode;
  description.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  description.mipmapFilterMode = linear_levels ? cudaFilterModeLinear : cudaFilterModePoint;
  description.normalizedCoords = 1;
  description.maxMipmapLevelClamp = most;
  return description;
}
cudaTextureObject_t Make(cudaMipmappedArray_t array, const cudaTextureDesc& description) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = array;
  cudaTextureObject_t texture;
  CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

// The model: one axis, one level, all levels.
struct Axis {
  int first, second;
  double weight;
};
double RoundedTo8Bits(double weight) { return std::floor(weight * 256 + 0.5) / 256; }

Axis AxisAt(float x, int size, cudaTextureAddressMode mode, bool linear) {
  x *= size;
  if (linear) x -= 0.5f;
  const int i = int(std::floor(x));
  const auto inside = [&](int k) {
    if (mode == cudaAddressModeBorder) return k < 0 || k >= size ? -1 : k;
    if (mode == cudaAddressModeWrap) return ((k % size) + size) % size;
    return std::min(std::max(k, 0), size - 1);
  };
  return {inside(i), inside(i + 1), linear ? RoundedTo8Bits(x - std::floor(x)) : 0};
}
double OfLevel(const Chain& chain, int level, const Query& q, const cudaTextureDesc& d) {
  const Image& image = chain.levels[level];
  const bool linear = d.filterMode == cudaFilterModeLinear;
  const Axis x = AxisAt(q.x, image.width, d.addressMode[0], linear);
  const Axis y = chain.dimensions() > 1 ? AxisAt(q.y, image.height, d.addressMode[1], linear) : Axis{0, 0, 0};
  const Axis z = chain.layered()           ? Axis{q.layer, q.layer, 0}
                 : chain.dimensions() == 3 ? AxisAt(q.z, image.depth, d.addressMode[2], linear)
                                           : Axis{0, 0, 0};
  double sum = 0;
  for (int c = 0; c < 8; ++c) {
    const int i = c & 1 ? x.second : x.first, j = c & 2 ? y.second : y.first, k = c & 4 ? z.second : z.first;
    const double weight =
        (c & 1 ? x.weight : 1 - x.weight) * (c & 2 ? y.weight : 1 - y.weight) * (c & 4 ? z.weight : 1 - z.weight);
    if (weight != 0) sum += weight * (i < 0 || j < 0 || k < 0 ? 0 : image.At(i, j, k));
  }
  return sum;
}
double Model(const Chain& chain, const Query& q, double level, const cudaTextureDesc& d) {
  level = std::min<double>(std::max<double>(level + d.mipmapLevelBias, d.minMipmapLevelClamp), d.maxMipmapLevelClamp);
  level = std::min<double>(std::max(level, 0.0), chain.levels.size() - 1.0);
  if (d.mipmapFilterMode == cudaFilterModePoint) return OfLevel(chain, int(std::floor(level + 0.5)), q, d);
  const int first = int(std::floor(level));
  const double weight = RoundedTo8Bits(level - first);
  const double value = OfLevel(chain, first, q, d);
  return weight == 0 ? value : (1 - weight) * value + weight * OfLevel(chain, first + 1, q, d);
}
// By the longer gradient, in texels.
double LevelOfGradients(const Chain& chain, const Query& q) {
  const Image& image = chain.levels[0];
  const int n = chain.dimensions();
  const auto length = [&](const float4& g) {
    const double x = g.x * image.width, y = n > 1 ? g.y * image.height : 0, z = n > 2 ? g.z * image.depth : 0;
    return std::sqrt(x * x + y * y + z * z);
  };
  return std::log2(std::max(length(q.by_x), length(q.by_y)));
}

// No level lies midway between two, where either may be the nearest.
std::vector<Query> Queries() {
  std::vector<Query> queries;
  for (int i = 0; i < kQueries; ++i) {
    const float s = std::exp2(-6 + 0.031f * i);
    queries.push_back({-0.37f + 0.0071f * i, 1.31f - 0.0063f * i, -0.12f + 0.005f * i, i % kDepth,
                       -2 + (i % 144) / 16.0f + 1 / 32.0f,
                       make_float4(s / kWidth, 0.5f * s / kHeight, -0.25f * s / kDepth, 0),
                       make_float4(-0.5f * s / kWidth, (i % 3) * s / kHeight, 0, 0)});
  }
  return queries;
}

const std::vector<Query> queries = Queries();
const Query* device_queries;
float* device_out;

void Check(const Chain& chain, const cudaTextureDesc& d, bool gradients) {
  const cudaTextureObject_t texture = Make(chain.array, d);
  (gradients ? Gradients : Levels)<<<1, kQueries>>>(chain.geometry, texture, device_queries, device_out);
  const std::vector<float> results = Host(device_out, kQueries);
  int wrong = 0;
  for (int i = 0; i < kQueries; ++i) {
    const double level = gradients ? LevelOfGradients(chain, queries[i]) : queries[i].level;
    const double expected = Model(chain, queries[i], level, d);
    // What gradients ask for may be rounded to the next of 8 bits, a part of what lies between two levels.
    const bool mixes = d.mipmapFilterMode == cudaFilterModeLinear;
    const double tolerance = gradients && mixes ? (kApart + 101) / 256 : 1e-2;
    if (!(std::fabs(results[i] - expected) <= tolerance)) {
      if (++wrong == 1)
        std::fprintf(stderr, "geometry %d, mode %d, filters %d %d, gradients %d: query %d, level %f: %f, not %f\n",
                     chain.geometry, d.addressMode[0], d.filterMode, d.mipmapFilterMode, gradients, i, level,
                     results[i], expected);
    }
  }
  CHECK_EQ(wrong, 0);
  CUDA(cudaDestroyTextureObject(texture));
}

void CheckAll(const Chain& chain) {
  for (const bool linear : {false, true}) {
    for (const bool linear_levels : {false, true}) {
      for (const auto mode : {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap}) {
        cudaTextureDesc d = Sampling(mode, linear, linear_levels, 20);
        Check(chain, d, false);
        Check(chain, d, true);
        d.mipmapLevelBias = 0.75f;
        d.minMipmapLevelClamp = 0.625f;
        d.maxMipmapLevelClamp = 2.25f;
        Check(chain, d, false);
        Check(chain, d, true);
      }
    }
  }
}

// Without a level, and where the limits are left at 0, it is the first.
void CheckFirstLevel(const Chain& chain) {
  const cudaTextureDesc d = Sampling(cudaAddressModeClamp, false, false, 20);
  FirstLevels<<<1, kQueries>>>(Make(chain.array, d), device_queries, device_out);
  const std::vector<float> plain = Host(device_out, kQueries);
  const cudaTextureDesc closed = Sampling(cudaAddressModeClamp, false, true, 0);
  Levels<<<1, kQueries>>>(k2D, Make(chain.array, closed), device_queries, device_out);
  const std::vector<float> limited = Host(device_out, kQueries);
  int wrong = 0;
  for (int i = 0; i < kQueries; ++i) {
    const float expected = float(OfLevel(chain, 0, queries[i], d));
    wrong += plain[i] != expected || limited[i] != expected;
  }
  CHECK_EQ(wrong, 0);
}

// An ordinary texture has one level, whatever is asked for.
void CheckWithoutMipmaps(const Chain& chain) {
  cudaArray_t array;
  CUDA(cudaGetMipmappedArrayLevel(&array, chain.array, 1));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  const cudaTextureDesc d = Sampling(cudaAddressModeClamp, false, true, 20);
  cudaTextureObject_t texture;
  CUDA(cudaCreateTextureObject(&texture, &resource, &d, nullptr));
  Levels<<<1, kQueries>>>(k2D, texture, device_queries, device_out);
  const std::vector<float> results = Host(device_out, kQueries);
  int wrong = 0;
  for (int i = 0; i < kQueries; ++i) wrong += results[i] != float(OfLevel(chain, 1, queries[i], d));
  CHECK_EQ(wrong, 0);
}

void CheckFormats() {
  cudaMipmappedArray_t colours, numbers;
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), ints = cudaCreateChannelDesc<int>();
  CUDA(cudaMallocMipmappedArray(&colours, &bytes, make_cudaExtent(2, 2, 0), 2));
  CUDA(cudaMallocMipmappedArray(&numbers, &ints, make_cudaExtent(2, 2, 0), 2));
  const std::vector<uchar4> near(4, make_uchar4(255, 0, 51, 102)), far(1, make_uchar4(0, 255, 153, 102));
  const std::vector<int> near_numbers(4, -7), far_numbers(1, 2000000001);
  const auto fill = [](cudaMipmappedArray_t to, int level, const void* from, int width, int height) {
    cudaArray_t array;
    CUDA(cudaGetMipmappedArrayLevel(&array, to, level));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, from, width * 4, width * 4, height, cudaMemcpyHostToDevice));
  };
  fill(colours, 0, near.data(), 2, 2);
  fill(colours, 1, far.data(), 1, 1);
  fill(numbers, 0, near_numbers.data(), 2, 2);
  fill(numbers, 1, far_numbers.data(), 1, 1);
  std::vector<Query> asked(2, Query{0.5f, 0.5f, 0, 0, 0.25f, {}, {}});
  asked[1].level = 0.75f;
  const Query* at = Device(asked);
  cudaTextureDesc d = Sampling(cudaAddressModeClamp, true, true, 9);
  d.readMode = cudaReadModeNormalizedFloat;
  float4* fractions;
  CUDA(cudaMalloc(&fractions, 2 * sizeof(float4)));
  Colours<<<1, 2>>>(Make(colours, d), at, fractions);
  const std::vector<float4> mixed = Host(fractions, 2);
  CHECK_EQ(std::fabs(mixed[0].x - 0.75f) < 1e-6f, true);
  CHECK_EQ(std::fabs(mixed[1].y - 0.75f) < 1e-6f, true);
  CHECK_EQ(std::fabs(mixed[0].z - 0.3f) < 1e-6f, true);
  CHECK_EQ(std::fabs(mixed[1].w - 0.4f) < 1e-6f, true);
  // Integers are never mixed: the nearest level.
  d.readMode = cudaReadModeElementType;
  d.filterMode = cudaFilterModePoint;
  int* whole;
  CUDA(cudaMalloc(&whole, 2 * sizeof(int)));
  Numbers<<<1, 2>>>(Make(numbers, d), at, whole);
  CHECK_EQ(Host(whole, 2)[0], -7);
  CHECK_EQ(Host(whole, 2)[1], 2000000001);
}

void CheckReduction() {
  constexpr int kSize = 16;
  cudaMipmappedArray_t chain;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA(cudaMallocMipmappedArray(&chain, &format, make_cudaExtent(kSize, kSize, 0), 5, cudaArraySurfaceLoadStore));
  std::vector<float> texels(kSize * kSize);
  double sum = 0;
  for (size_t i = 0; i < texels.size(); ++i) sum += texels[i] = float(i % 64);
  cudaArray_t from, to;
  CUDA(cudaGetMipmappedArrayLevel(&from, chain, 0));
  CUDA(cudaMemcpy2DToArray(from, 0, 0, texels.data(), kSize * 4, kSize * 4, kSize, cudaMemcpyHostToDevice));
  for (int level = 1, size = kSize / 2; size > 0; ++level, size /= 2, from = to) {
    CUDA(cudaGetMipmappedArrayLevel(&to, chain, level));
    cudaResourceDesc in{}, out{};
    in.res.array.array = from;
    out.res.array.array = to;
    const cudaTextureDesc d = Sampling(cudaAddressModeClamp, true, false, 0);
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    CUDA(cudaCreateTextureObject(&texture, &in, &d, nullptr));
    CUDA(cudaCreateSurfaceObject(&surface, &out));
    Reduce<<<size, size>>>(texture, surface, size, size);
  }
  float mean;
  CUDA(cudaMemcpy2DFromArray(&mean, 4, to, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
  CHECK_EQ(std::fabs(mean - sum / texels.size()) < 1e-3, true);
}

void CheckRefusals(const Chain& chain) {
  cudaTextureDesc d = Sampling(cudaAddressModeClamp, false, false, 20);
  d.normalizedCoords = 0;
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = chain.array;
  cudaTextureObject_t texture;
  CHECK_EQ(cudaCreateTextureObject(&texture, &resource, &d, nullptr), cudaErrorInvalidValue);
  cudaArray_t level;
  CUDA(cudaGetMipmappedArrayLevel(&level, chain.array, 0));
  CHECK_EQ(cudaFreeArray(level) != cudaSuccess, true);
  CUDA(cudaFreeMipmappedArray(chain.array));
  CHECK_EQ(cudaFreeMipmappedArray(chain.array) != cudaSuccess, true);
  CHECK_EQ(cudaGetMipmappedArrayLevel(&level, chain.array, 0) != cudaSuccess, true);
  cudaMipmappedArray_t large;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK_EQ(cudaMallocMipmappedArray(&large, &format, make_cudaExtent(32769, 0, 0), 3) != cudaSuccess, true);
  CHECK_EQ(cudaGetLastError() != cudaSuccess, true);
}

int main() {
  device_queries = Device(queries);
  CUDA(cudaMalloc(&device_out, kQueries * sizeof(float)));
  CheckAll(MakeChain(k1D, 100, 6));  // 32, 16, 8, 4, 2, 1
  CheckAll(MakeChain(k2D, 100, 6));
  CheckAll(MakeChain(k3D, 6, 6));
  CheckAll(MakeChain(k1DLayered, 4, 4));
  const Chain layers = MakeChain(k2DLayered, 0, 1);  // at least one
  CUDA(cudaFreeMipmappedArray(layers.array));
  CheckAll(MakeChain(k2DLayered, 5, 5));
  const Chain plane = MakeChain(k2D, 3, 3);
  CheckFirstLevel(plane);
  CheckWithoutMipmaps(plane);
  CheckFormats();
  CheckReduction();
  CheckRefusals(plane);
  return Verdict();
}
