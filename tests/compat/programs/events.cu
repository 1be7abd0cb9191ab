// Times between events grow with the work between them.
#include "program.h"

__global__ void Work(float* data, int rounds) {
  float x = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = x * 1.0001f + 0.5f;
  data[threadIdx.x] = x;
}

int main() {
  float* data;
  CUDA(cudaMalloc(&data, 128 * sizeof(float)));
  cudaEvent_t marks[3];
  for (auto& mark : marks) CUDA(cudaEventCreate(&mark));
  Work<<<1, 128>>>(data, 1);
  CUDA(cudaEventRecord(marks[0]));
  Work<<<1, 128>>>(data, 10);
  CUDA(cudaEventRecord(marks[1]));
  Work<<<1, 128>>>(data, 1'000'000);
  CUDA(cudaEventRecord(marks[2]));
  CUDA(cudaEventSynchronize(marks[2]));
  float total = -1, first = -1;
  CUDA(cudaEventElapsedTime(&total, marks[0], marks[2]));
  CUDA(cudaEventElapsedTime(&first, marks[0], marks[1]));
  CHECK_EQ(first >= 0, true);
  CHECK_EQ(total > first, true);
  for (auto& mark : marks) CUDA(cudaEventDestroy(mark));
  return Verdict();
}
