// Host threads that share the device and a stream, each with its own data.
#include <thread>
#include <vector>

#include "program.h"

__global__ void Add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}

void Run(int number, int* result) {
  const int n = 10'000;
  int* data;
  CUDA(cudaMalloc(&data, n * sizeof(int)));
  CUDA(cudaMemset(data, 0, n * sizeof(int)));
  for (int i = 0; i < 50; ++i) Add<<<(n + 127) / 128, 128>>>(data, n, number);
  CUDA(cudaMemcpy(result, data + n - 1, sizeof(int), cudaMemcpyDeviceToHost));
  CUDA(cudaFree(data));
}

int main() {
  const int kThreads = 8;
  int results[kThreads] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Run, i, &results[i]);
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) CHECK_EQ(results[i], 50 * i);
  return Verdict();
}
