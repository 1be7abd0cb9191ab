// Managed memory, allocated and declared: one pointer on both sides.
#include "program.h"

struct Row {
  double weight;
  int count[3];
};

__managed__ int total = 10;
__managed__ Row rows[4] = {{0.5, {1, 2, 3}}, {1.5, {4, 5, 6}}};
static __managed__ int* where;

__global__ void Sum(const int* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total, data[i]);
}

__device__ int* CountOf(int row) { return &rows[row].count[1]; }

__global__ void Change() {
  const int row = threadIdx.x;
  rows[row].weight += row;
  for (int i = 0; i < 100; ++i) atomicAdd(CountOf(row), 1);
  where[row] = *CountOf(row);
}

int main() {
  int* data;
  CUDA(cudaMallocManaged(&data, 1000 * sizeof(int)));
  for (int i = 0; i < 1000; ++i) data[i] = i;
  CHECK_EQ(total, 10);
  total += 5;
  Sum<<<1, 128>>>(data, 1000);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(total, 499'515);

  where = data;
  Change<<<1, 4>>>();
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(rows[1].weight, 2.5);
  CHECK_EQ(rows[3].weight, 3);
  CHECK_EQ(rows[0].count[1], 102);
  CHECK_EQ(rows[0].count[2], 3);
  CHECK_EQ(data[1], 105);

  // As other variables are reached.
  int copy = 0;
  CUDA(cudaMemcpyFromSymbol(&copy, total, sizeof copy));
  CHECK_EQ(copy, 499'515);
  copy = 7;
  CUDA(cudaMemcpyToSymbol(total, &copy, sizeof copy));
  CHECK_EQ(total, 7);
  void* address;
  CUDA(cudaGetSymbolAddress(&address, rows));
  CHECK_EQ(address, static_cast<void*>(rows));

  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, data));
  CHECK_EQ(attributes.type, cudaMemoryTypeManaged);
  CUDA(cudaFree(data));
  return Verdict();
}
