// Kernels that launch kernels (dynamic parallelism): results of all grids of a family are there when the first is over.
#include "program.h"

#include <algorithm>
#include <vector>

// Quicksort: each grid sorts a range, and launches one for each side of its pivot.
__global__ void Sort(int* data, int left, int right, int depth) {
  if (depth >= 16 || right - left < 16) {
    for (int i = left; i <= right; ++i) {
      int least = i;
      for (int j = i + 1; j <= right; ++j) least = data[j] < data[least] ? j : least;
      const int moved = data[i];
      data[i] = data[least];
      data[least] = moved;
    }
    return;
  }
  const int pivot = data[(left + right) / 2];
  int low = left, high = right;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low > high) break;
    const int moved = data[low];
    data[low++] = data[high];
    data[high--] = moved;
  }
  if (left < high) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    Sort<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
    cudaStreamDestroy(stream);
  }
  if (low < right) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    Sort<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
    cudaStreamDestroy(stream);
  }
}

void QuicksortWorks() {
  constexpr int kCount = 20000;
  std::vector<int> expected(kCount);
  unsigned state = 7;
  for (int& value : expected) value = static_cast<int>((state = state * 1664525u + 1013904223u) >> 8);
  int* data;
  CUDA(cudaMalloc(&data, kCount * sizeof(int)));
  CUDA(cudaMemcpy(data, expected.data(), kCount * sizeof(int), cudaMemcpyDefault));
  Sort<<<1, 1>>>(data, 0, kCount - 1, 0);
  std::vector<int> sorted(kCount);
  CUDA(cudaMemcpy(sorted.data(), data, kCount * sizeof(int), cudaMemcpyDefault));
  std::sort(expected.begin(), expected.end());
  CHECK_EQ(sorted == expected, true);
  CUDA(cudaFree(data));
}

struct Wide {  // parameters of all sizes
  char c;
  double d;
  int many[40];
};
__global__ void Add(long long* sum, Wide wide, short s) {
  atomicAdd(reinterpret_cast<unsigned long long*>(sum),
            static_cast<unsigned long long>(wide.c + static_cast<int>(wide.d) + wide.many[39] + s));
}
// Every thread of every block launches one, of its own shape, under divergence.
__global__ void ManyParents(long long* sum) {
  Wide wide{1, 2.0, {}};
  wide.many[39] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (threadIdx.x % 3 == 0) {
    Add<<<1, 1 + threadIdx.x % 2>>>(sum, wide, 3);
  } else {
    Add<<<2, 1>>>(sum, wide, 4);
  }
}
void EveryThreadMayLaunch() {
  constexpr int kBlocks = 20, kThreads = 64;
  long long expected = 0;
  for (int i = 0; i < kBlocks * kThreads; ++i) {
    const int thread = i % kThreads;
    expected += thread % 3 == 0 ? (1 + thread % 2) * (6 + i) : 2 * (7 + i);
  }
  long long* sum;
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  CUDA(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096));
  size_t limit = 0;
  CUDA(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
  CHECK_EQ(limit, 4096u);
  *sum = 0;
  ManyParents<<<kBlocks, kThreads>>>(sum);
  CUDA(cudaDeviceSynchronize());
  CHECK_EQ(*sum, expected);
  // What is behind the family in its stream waits for all of it.
  CUDA(cudaMemsetAsync(sum, 0, sizeof *sum));
  ManyParents<<<kBlocks, kThreads>>>(sum);
  long long found = 0;
  CUDA(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDefault));
  CUDA(cudaStreamSynchronize(nullptr));
  CHECK_EQ(found, expected);
  CUDA(cudaFree(sum));
}

// As a node of a graph, and in a stream that is captured.
void FamiliesRunInGraphs() {
  long long* sum;
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ManyParents<<<2, 32, 0, stream>>>(sum);
  ManyParents<<<2, 32, 0, stream>>>(sum);
  cudaGraph_t graph;
  CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  long long once = 0;
  for (int i = 0; i < 64; ++i) once += i % 32 % 3 == 0 ? (1 + i % 32 % 2) * (6 + i) : 2 * (7 + i);
  CHECK_EQ(*sum, 6 * once);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(sum));
}

int main() {
  QuicksortWorks();
  EveryThreadMayLaunch();
  FamiliesRunInGraphs();
  return Verdict();
}
