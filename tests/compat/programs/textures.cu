// Texture and surface objects: every kind of memory behind them, filters, what lies outside, and element formats, each
// against a model on the host.
#include <cuda_fp16.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "device_vector.h"
#include "program.h"

constexpr int kWidth = 24, kHeight = 10, kDepth = 6;

struct Point {
  float x, y, z;
};

__global__ void Sample1(cudaTextureObject_t texture, const Point* at, float* out) {
  out[threadIdx.x] = tex1D<float>(texture, at[threadIdx.x].x);
}
__global__ void Sample2(cudaTextureObject_t texture, const Point* at, float* out) {
  out[threadIdx.x] = tex2D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void Sample3(cudaTextureObject_t texture, const Point* at, float* out) {
  out[threadIdx.x] = tex3D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y, at[threadIdx.x].z);
}
__global__ void SampleLayers(cudaTextureObject_t texture, const Point* at, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y, threadIdx.x % kDepth);
}
__global__ void Fetch(cudaTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex1Dfetch<float4>(texture, threadIdx.x);
}
__global__ void FetchBytes(cudaTextureObject_t texture, uchar4* out) {
  out[threadIdx.x] = tex2D<uchar4>(texture, threadIdx.x, 1);
}
__global__ void FetchShorts(cudaTextureObject_t texture, short2* out) {
  out[threadIdx.x] = tex2D<short2>(texture, threadIdx.x, 1);
}
__global__ void FetchFractions(cudaTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex2D<float4>(texture, threadIdx.x, 1);
}
__global__ void Gather(cudaTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex2Dgather<float4>(texture, threadIdx.x + 1, 1, 0);
}
__global__ void Exchange(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = blockIdx.x;
  const float value = surf2Dread<float>(from, (x - 1) * 4, y, cudaBoundaryModeZero);
  surf2Dwrite(value + surf2Dread<float>(from, (x + 1) * 4, y, cudaBoundaryModeClamp), to, x * 4, y);
  surf2Dwrite(-1.0f, to, (x + kWidth) * 4, y, cudaBoundaryModeZero);
}
__global__ void WriteBox(cudaSurfaceObject_t box) {
  surf3Dwrite(short(100 * blockIdx.y + 10 * blockIdx.x + threadIdx.x), box, threadIdx.x * 2, blockIdx.x, blockIdx.y);
}

std::vector<float> texels;
float Texel(int x, int y, int z) { return texels[(z * kHeight + y) * kWidth + x]; }

// One axis: the two texels and the second one's weight. -1: border.
struct Axis {
  int first, second;
  float weight;
};
Axis AxisAt(float x, int size, cudaTextureAddressMode mode, bool linear, bool normalized) {
  if (normalized) x *= size;
  if (linear) x -= 0.5f;
  const int i = static_cast<int>(std::floor(x));
  const auto inside = [&](int k) {
    if (mode == cudaAddressModeBorder) return k < 0 || k >= size ? -1 : k;
    if (mode == cudaAddressModeWrap) return ((k % size) + size) % size;
    if (mode == cudaAddressModeMirror) {
      k = ((k % (2 * size)) + 2 * size) % (2 * size);
      return k < size ? k : 2 * size - 1 - k;
    }
    return std::min(std::max(k, 0), size - 1);
  };
  return {inside(i), inside(i + 1), linear ? x - std::floor(x) : 0};
}
float Model(const Point& p, int dimensions, cudaTextureAddressMode mode, bool linear, bool normalized) {
  const Axis x = AxisAt(p.x, kWidth, mode, linear, normalized);
  const Axis y = dimensions > 1 ? AxisAt(p.y, kHeight, mode, linear, normalized) : Axis{0, 0, 0};
  const Axis z = dimensions > 2 ? AxisAt(p.z, kDepth, mode, linear, normalized) : Axis{0, 0, 0};
  float sum = 0;
  for (int c = 0; c < 8; ++c) {
    const int i = c & 1 ? x.second : x.first, j = c & 2 ? y.second : y.first, k = c & 4 ? z.second : z.first;
    const float weight =
        (c & 1 ? x.weight : 1 - x.weight) * (c & 2 ? y.weight : 1 - y.weight) * (c & 4 ? z.weight : 1 - z.weight);
    sum += weight * (i < 0 || j < 0 || k < 0 ? 0 : Texel(i, j, k));
  }
  return sum;
}

std::vector<Point> Points(bool normalized) {
  std::vector<Point> points;
  for (int i = 0; i < 128; ++i) {
    const float u = -0.7f + 0.0191f * i, v = 1.6f - 0.0173f * i, w = -0.2f + 0.011f * i;
    points.push_back(normalized ? Point{u, v, w} : Point{u * kWidth, v * kHeight, w * kDepth});
  }
  return points;
}

cudaArray_t MakeArray(int height, int depth, unsigned flags) {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(kWidth, height, depth), flags));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(texels.data(), kWidth * sizeof(float), kWidth, kHeight);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(kWidth, std::max(height, 1), std::max(depth, 1));
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  return array;
}

cudaResourceDesc Of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}
template <typename T>
cudaResourceDesc OfRows(T* memory, int width, int height, size_t pitch) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {memory, cudaCreateChannelDesc<T>(), size_t(width), size_t(height), pitch};
  return resource;
}
cudaTextureObject_t Make(const cudaResourceDesc& resource, cudaTextureAddressMode mode, bool linear, bool normalized,
                         cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc description{};
  for (auto& axis : description.addressMode) axis = mode;
  description.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  description.readMode = read;
  description.normalizedCoords = normalized;
  cudaTextureObject_t texture;
  CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

void CheckSampling(int dimensions, const cudaResourceDesc& resource) {
  void (*const kernel)(cudaTextureObject_t, const Point*, float*) = dimensions == 1   ? Sample1
                                                                    : dimensions == 2 ? Sample2
                                                                                      : Sample3;
  float* out;
  CUDA(cudaMalloc(&out, 128 * sizeof(float)));
  for (const bool normalized : {false, true}) {
    const std::vector<Point> points = Points(normalized);
    const Point* at = Device(points);
    for (const bool linear : {false, true}) {
      for (const auto mode :
           {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap, cudaAddressModeMirror}) {
        if (!normalized && mode != cudaAddressModeClamp && mode != cudaAddressModeBorder) continue;
        const cudaTextureObject_t texture = Make(resource, mode, linear, normalized);
        kernel<<<1, 128>>>(texture, at, out);
        const std::vector<float> results = Host(out, 128);
        int wrong = 0;
        for (int i = 0; i < 128; ++i) {
          const float expected = Model(points[i], dimensions, mode, linear, normalized);
          if (!(std::fabs(results[i] - expected) <= (linear ? 0.3f * dimensions : 1e-4f)))
            ++wrong;  // weights have 8 bits
        }
        CHECK_EQ(wrong, 0);
        if (wrong != 0)
          std::fprintf(stderr, "%dD, mode %d, linear %d, normalized %d\n", dimensions, mode, linear, normalized);
        CUDA(cudaDestroyTextureObject(texture));
      }
    }
  }
}

void CheckFormats() {
  std::vector<uchar4> bytes(2 * kWidth);
  std::vector<short2> shorts(2 * kWidth);
  std::vector<__half> halves(2 * kWidth);
  for (int i = 0; i < 2 * kWidth; ++i) {
    bytes[i] = make_uchar4(i, 255 - i, 5 * i, 200);
    shorts[i] = make_short2(-700 * i, 300 * i);
    halves[i] = __float2half(i * 0.25f - 3);
  }
  uchar4* pixels;
  CUDA(cudaMalloc(&pixels, kWidth * sizeof(uchar4)));
  const auto rows = OfRows(Device(bytes), kWidth, 2, kWidth * sizeof(uchar4));
  FetchBytes<<<1, kWidth>>>(Make(rows, cudaAddressModeClamp, false, false), pixels);
  CHECK_EQ(Host(pixels, kWidth)[3].y, bytes[kWidth + 3].y);
  float4* fractions;
  CUDA(cudaMalloc(&fractions, kWidth * sizeof(float4)));
  FetchFractions<<<1, kWidth>>>(Make(rows, cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat), fractions);
  CHECK_EQ(Host(fractions, kWidth)[7].z, bytes[kWidth + 7].z / 255.0f);
  short2* pairs;
  CUDA(cudaMalloc(&pairs, kWidth * sizeof(short2)));
  const auto short_rows = OfRows(Device(shorts), kWidth, 2, kWidth * sizeof(short2));
  FetchShorts<<<1, kWidth>>>(Make(short_rows, cudaAddressModeClamp, false, false), pairs);
  CHECK_EQ(Host(pairs, kWidth)[9].x, shorts[kWidth + 9].x);
  FetchFractions<<<1, kWidth>>>(Make(short_rows, cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat),
                                fractions);
  CHECK_EQ(Host(fractions, kWidth)[9].x, shorts[kWidth + 9].x / 32767.0f);
  auto half_rows = OfRows(Device(shorts), kWidth, 2, kWidth * sizeof(__half));
  half_rows.res.pitch2D.devPtr = Device(halves);
  half_rows.res.pitch2D.desc = cudaCreateChannelDescHalf();
  FetchFractions<<<1, kWidth>>>(Make(half_rows, cudaAddressModeClamp, false, false), fractions);
  CHECK_EQ(Host(fractions, kWidth)[11].x, __half2float(halves[kWidth + 11]));
}

void CheckLinearMemory() {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {Device(texels), cudaCreateChannelDesc<float4>(), 20 * sizeof(float4)};
  const cudaTextureObject_t texture = Make(resource, cudaAddressModeClamp, false, false);
  float4* out;
  CUDA(cudaMalloc(&out, 32 * sizeof(float4)));
  Fetch<<<1, 32>>>(texture, out);
  const std::vector<float4> fetched = Host(out, 32);
  CHECK_EQ(fetched[19].w, texels[79]);
  CHECK_EQ(fetched[20].x, 0.0f);  // outside
  cudaResourceDesc known;
  CUDA(cudaGetTextureObjectResourceDesc(&known, texture));
  CHECK_EQ(known.res.linear.sizeInBytes, 20 * sizeof(float4));
  CUDA(cudaDestroyTextureObject(texture));
  CHECK_EQ(cudaDestroyTextureObject(texture) != cudaSuccess, true);
  CHECK_EQ(cudaGetLastError() != cudaSuccess, true);
}

void CheckSurfaces() {
  cudaSurfaceObject_t from, to, box;
  const cudaArray_t source = MakeArray(kHeight, 0, cudaArraySurfaceLoadStore),
                    target = MakeArray(kHeight, 0, cudaArraySurfaceLoadStore);
  const cudaResourceDesc first = Of(source), second = Of(target);
  CUDA(cudaCreateSurfaceObject(&from, &first));
  CUDA(cudaCreateSurfaceObject(&to, &second));
  Exchange<<<kHeight, kWidth>>>(from, to);
  std::vector<float> out(kWidth * kHeight);
  CUDA(cudaMemcpy2DFromArray(out.data(), kWidth * 4, target, 0, 0, kWidth * 4, kHeight, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const float expected = (x > 0 ? Texel(x - 1, y, 0) : 0) + Texel(std::min(x + 1, kWidth - 1), y, 0);
      if (out[y * kWidth + x] != expected) ++wrong;
    }
  }
  CHECK_EQ(wrong, 0);
  CUDA(cudaDestroySurfaceObject(from));

  cudaArray_t cube;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<short>();
  CUDA(cudaMalloc3DArray(&cube, &format, make_cudaExtent(8, 4, 3), cudaArraySurfaceLoadStore));
  const cudaResourceDesc third = Of(cube);
  CUDA(cudaCreateSurfaceObject(&box, &third));
  WriteBox<<<dim3(4, 3), 8>>>(box);
  std::vector<short> values(8 * 4 * 3);
  cudaMemcpy3DParms copy{};
  copy.srcArray = cube;
  copy.dstPtr = make_cudaPitchedPtr(values.data(), 16, 8, 4);
  copy.extent = make_cudaExtent(8, 4, 3);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3D(&copy));
  CHECK_EQ(values[(2 * 4 + 3) * 8 + 7], 237);
}

int main() {
  texels.resize(kWidth * kHeight * kDepth);
  for (size_t i = 0; i < texels.size(); ++i) texels[i] = float((i * 37) % 101);
  CheckLinearMemory();
  CheckSampling(1, Of(MakeArray(0, 0, 0)));
  const cudaArray_t plane = MakeArray(kHeight, 0, 0);
  CheckSampling(2, Of(plane));
  CheckSampling(2, OfRows(Device(texels), kWidth, kHeight, kWidth * sizeof(float)));
  CheckSampling(3, Of(MakeArray(kHeight, kDepth, 0)));
  CheckFormats();

  float* out;
  CUDA(cudaMalloc(&out, 128 * sizeof(float)));
  const std::vector<Point> points = Points(false);
  SampleLayers<<<1, 128>>>(Make(Of(MakeArray(kHeight, kDepth, cudaArrayLayered)), cudaAddressModeClamp, false, false),
                           Device(points), out);
  const std::vector<float> layered = Host(out, 128);
  int wrong = 0;
  for (int i = 0; i < 128; ++i) {
    const Axis x = AxisAt(points[i].x, kWidth, cudaAddressModeClamp, false, false);
    const Axis y = AxisAt(points[i].y, kHeight, cudaAddressModeClamp, false, false);
    if (layered[i] != Texel(x.first, y.first, i % kDepth)) ++wrong;
  }
  CHECK_EQ(wrong, 0);
  float4* four;
  CUDA(cudaMalloc(&four, 16 * sizeof(float4)));
  Gather<<<1, 16>>>(Make(Of(plane), cudaAddressModeClamp, false, false), four);
  const float4 gathered = Host(four, 16)[5];
  CHECK_EQ(gathered.x, Texel(5, 1, 0));
  CHECK_EQ(gathered.y, Texel(6, 1, 0));
  CHECK_EQ(gathered.z, Texel(6, 0, 0));
  CHECK_EQ(gathered.w, Texel(5, 0, 0));
  CheckSurfaces();
  return Verdict();
}
