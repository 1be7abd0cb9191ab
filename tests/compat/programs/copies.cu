// Copies in every direction and shape through the runtime: pitched, three-dimensional, through arrays, between devices'
// memory.
#include <numeric>
#include <vector>

#include "program.h"

int main() {
  const int w = 30, h = 20, d = 4;
  std::vector<int> in(w * h * d), out(w * h * d);
  std::iota(in.begin(), in.end(), 0);

  int* pitched;
  size_t pitch;
  CUDA(cudaMallocPitch(&pitched, &pitch, w * sizeof(int), h));
  CUDA(cudaMemcpy2D(pitched, pitch, in.data(), w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy2D(out.data(), w * sizeof(int), pitched, pitch, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  CHECK_EQ(out[w * h - 1], w * h - 1);

  cudaPitchedPtr box;
  const cudaExtent extent = make_cudaExtent(w * sizeof(int), h, d);
  CUDA(cudaMalloc3D(&box, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), w * sizeof(int), w, h);
  copy.dstPtr = box;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA(cudaMemcpy3D(&copy));
  std::fill(out.begin(), out.end(), -1);
  copy.srcPtr = box;
  copy.dstPtr = make_cudaPitchedPtr(out.data(), w * sizeof(int), w, h);
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA(cudaMemcpy3DAsync(&copy));
  CUDA(cudaStreamSynchronize(0));
  CHECK_EQ(out == in, true);

  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  CUDA(cudaMallocArray(&array, &format, w, h));
  CUDA(cudaMemcpy2DToArray(array, 0, 0, in.data(), w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
  std::fill(out.begin(), out.end(), -1);
  CUDA(cudaMemcpy2DFromArray(out.data(), w * sizeof(int), array, 0, 0, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  CHECK_EQ(out[w * h - 1], w * h - 1);
  CUDA(cudaFreeArray(array));

  int *first, *second;
  const size_t bytes = in.size() * sizeof(int);
  CUDA(cudaMalloc(&first, bytes));
  CUDA(cudaMalloc(&second, bytes));
  CUDA(cudaMemcpyAsync(first, in.data(), bytes, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(second, first, bytes, cudaMemcpyDeviceToDevice));
  std::fill(out.begin(), out.end(), -1);
  CUDA(cudaMemcpy(out.data(), second, bytes, cudaMemcpyDefault));
  CHECK_EQ(out == in, true);
  return Verdict();
}
