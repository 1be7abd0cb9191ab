// Adds up a million numbers with warp shuffles and compares the sum of every round with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "problem.h"
#include "reduction.cuh"

int main(int argc, char** argv) {
  using namespace reduction;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<uint32_t> values = Input();
  const uint32_t expected = Sum(values);
  const size_t bytes = kCount * sizeof(uint32_t);

  uint32_t *device_values, *device_result;
  CHECK_CUDA(cudaMalloc(&device_values, bytes));
  CHECK_CUDA(cudaMalloc(&device_result, sizeof(uint32_t)));
  CHECK_CUDA(cudaMemcpy(device_values, values.data(), bytes, cudaMemcpyHostToDevice));

  uint64_t wrong = 0;
  example::Loop loop(options);
  while (loop.Next()) {
    CHECK_CUDA(cudaMemset(device_result, 0, sizeof(uint32_t)));
    reduction_kernel<<<options.blocks, kThreads>>>(device_values, kCount, device_result);
    CHECK_CUDA(cudaGetLastError());
    uint32_t result = 0;
    CHECK_CUDA(cudaMemcpy(&result, device_result, sizeof result, cudaMemcpyDeviceToHost));
    wrong += result != expected;
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaFree(device_values));
  CHECK_CUDA(cudaFree(device_result));
  return example::Report("reduction", loop, seconds, loop.rounds(), wrong);
}
