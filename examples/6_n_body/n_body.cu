// Computes gravity between all pairs of bodies and compares every acceleration with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "n_body.cuh"
#include "problem.h"

int main(int argc, char** argv) {
  using namespace n_body;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<Vec4> bodies = Input();
  std::vector<Vec4> accelerations(kCount);
  const size_t bytes = kCount * sizeof(Vec4);

  float4 *device_bodies, *device_accelerations;
  CHECK_CUDA(cudaMalloc(&device_bodies, bytes));
  CHECK_CUDA(cudaMalloc(&device_accelerations, bytes));
  CHECK_CUDA(cudaMemcpy(device_bodies, bodies.data(), bytes, cudaMemcpyHostToDevice));

  example::Loop loop(options);
  while (loop.Next()) {
    n_body_kernel<<<options.blocks, kThreads>>>(device_bodies, device_accelerations, kCount);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaMemcpy(accelerations.data(), device_accelerations, bytes, cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_bodies));
  CHECK_CUDA(cudaFree(device_accelerations));
  return example::Report("n_body", loop, seconds, kCount, CountWrong(bodies, accelerations));
}
