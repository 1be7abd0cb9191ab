// Buffers that a graph allocates and frees itself: captured from a stream, by hand, and left to the program.
#include <vector>

#include "program.h"

__global__ void Fill(int* data, int n, int value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = value + i;
}
__global__ void Add(int* to, const int* from, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] += from[i];
}

constexpr int kCount = 2000;
constexpr size_t kBytes = kCount * sizeof(int);

int main() {
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* result;
  CUDA(cudaMalloc(&result, kBytes));
  CUDA(cudaMemset(result, 0, kBytes));
  std::vector<int> host(kCount);

  // A function that allocates its own scratch memory is captured like any other.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int round = 0; round < 3; ++round) {
    int* scratch;
    CUDA(cudaMallocAsync(&scratch, kBytes, stream));
    Fill<<<1, 128, 0, stream>>>(scratch, kCount, round);
    Add<<<1, 128, 0, stream>>>(result, scratch, kCount);
    CUDA(cudaFreeAsync(scratch, stream));
  }
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 1; launch <= 4; ++launch) {
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaMemcpyAsync(host.data(), result, kBytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK_EQ(host[0], launch * 3);
    CHECK_EQ(host[kCount - 1], launch * (3 + 3 * (kCount - 1)));
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // By hand; the program uses the buffer after the launch and frees it.
  CUDA(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams wanted{};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location.type = cudaMemLocationTypeDevice;
  wanted.poolProps.location.id = 0;
  wanted.bytesize = kBytes;
  cudaGraphNode_t allocate, fill;
  CUDA(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &wanted));
  int* buffer = static_cast<int*>(wanted.dptr);
  int count = kCount, value = 40;
  void* arguments[] = {&buffer, &count, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(Fill);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&fill, graph, &allocate, 1, &kernel));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 2; ++launch) {
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaMemcpyAsync(host.data(), buffer, kBytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK_EQ(host[2], 42);
    CHECK_EQ(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    CUDA(cudaFreeAsync(buffer, stream));
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int launch = 0; launch < 3; ++launch) CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaFreeAsync(buffer, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  unsigned long long reserved = 1;
  CUDA(cudaDeviceGraphMemTrim(0));
  CUDA(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
  CHECK_EQ(reserved, 0ull);
  return Verdict();
}
