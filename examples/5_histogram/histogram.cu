// Counts byte values with atomics in shared and global memory and compares every bin with the host's.
#include <cstdint>

#include "../common/cuda_program.h"
#include "histogram.cuh"
#include "problem.h"

int main(int argc, char** argv) {
  using namespace histogram;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<uint32_t> words = Input();
  std::vector<uint32_t> bins(kBins);
  const size_t bytes = words.size() * sizeof(uint32_t);

  uint32_t *device_words, *device_bins;
  CHECK_CUDA(cudaMalloc(&device_words, bytes));
  CHECK_CUDA(cudaMalloc(&device_bins, kBins * sizeof(uint32_t)));
  CHECK_CUDA(cudaMemcpy(device_words, words.data(), bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(device_bins, 0, kBins * sizeof(uint32_t)));

  example::Loop loop(options);
  while (loop.Next()) {
    histogram_kernel<<<options.blocks, kThreads>>>(device_words, kCount, device_bins);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  const double seconds = loop.Seconds();
  CHECK_CUDA(cudaMemcpy(bins.data(), device_bins, kBins * sizeof(uint32_t), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_words));
  CHECK_CUDA(cudaFree(device_bins));
  return example::Report("histogram", loop, seconds, kBins, CountWrong(words, bins, loop.rounds()));
}
