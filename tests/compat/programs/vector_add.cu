// The first program anybody writes.
#include <vector>

#include "program.h"

__global__ void Add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 100'000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i;
    b[i] = 2 * i;
  }
  float *da, *db, *dc;
  CUDA(cudaMalloc(&da, n * sizeof(float)));
  CUDA(cudaMalloc(&db, n * sizeof(float)));
  CUDA(cudaMalloc(&dc, n * sizeof(float)));
  CUDA(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  Add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += c[i] != 3.0f * i;
  CHECK_EQ(wrong, 0);
  CUDA(cudaFree(da));
  CUDA(cudaFree(db));
  CUDA(cudaFree(dc));
  return Verdict();
}
