// Adds two vectors on the device and compares every sum with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "problem.h"
#include "vector_add.cuh"

int main(int argc, char** argv) {
  using namespace vector_add;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<float> a = Input(0), b = Input(kCount);
  std::vector<float> c(kCount);
  const size_t bytes = kCount * sizeof(float);

  float *device_a, *device_b, *device_c;
  CHECK_CUDA(cudaMalloc(&device_a, bytes));
  CHECK_CUDA(cudaMalloc(&device_b, bytes));
  CHECK_CUDA(cudaMalloc(&device_c, bytes));
  CHECK_CUDA(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

  example::Loop loop(options);
  while (loop.Next()) {
    vector_add_kernel<<<options.blocks, kThreads>>>(device_a, device_b, device_c, kCount);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_a));
  CHECK_CUDA(cudaFree(device_b));
  CHECK_CUDA(cudaFree(device_c));
  return example::Report("vector_add", loop, seconds, kCount, CountWrong(a, b, c));
}
