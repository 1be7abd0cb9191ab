// Computes a Mandelbrot picture and compares every pixel with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "mandelbrot.cuh"
#include "problem.h"

int main(int argc, char** argv) {
  using namespace mandelbrot;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  std::vector<uint32_t> counts(kWidth * kHeight);
  const size_t bytes = counts.size() * sizeof(uint32_t);

  uint32_t* device_counts;
  CHECK_CUDA(cudaMalloc(&device_counts, bytes));
  example::Loop loop(options);
  while (loop.Next()) {
    mandelbrot_kernel<<<options.blocks, kThreads>>>(device_counts, kWidth, kHeight);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaMemcpy(counts.data(), device_counts, bytes, cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_counts));
  return example::Report("mandelbrot", loop, seconds, counts.size(), CountWrong(counts));
}
