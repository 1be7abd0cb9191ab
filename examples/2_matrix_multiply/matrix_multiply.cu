// Multiplies two matrices tile by tile in shared memory and compares every element with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "matrix_multiply.cuh"
#include "problem.h"

int main(int argc, char** argv) {
  using namespace matrix_multiply;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<float> a = Input(0), b = Input(kSize * kSize);
  std::vector<float> c(kSize * kSize);
  const size_t bytes = c.size() * sizeof(float);

  float *device_a, *device_b, *device_c;
  CHECK_CUDA(cudaMalloc(&device_a, bytes));
  CHECK_CUDA(cudaMalloc(&device_b, bytes));
  CHECK_CUDA(cudaMalloc(&device_c, bytes));
  CHECK_CUDA(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  example::Loop loop(options);
  while (loop.Next()) {
    matrix_multiply_kernel<<<options.blocks, dim3(kTile, kTile)>>>(device_a, device_b, device_c, kSize);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_a));
  CHECK_CUDA(cudaFree(device_b));
  CHECK_CUDA(cudaFree(device_c));
  return example::Report("matrix_multiply", loop, seconds, c.size(), CountWrong(a, b, c));
}
