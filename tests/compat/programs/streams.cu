// Several streams at once, with priorities, waiting for each other through events.
#include "program.h"

__global__ void AddTo(int* data, int n, int value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] += value;
}

int main() {
  const int n = 1 << 16, kStreams = 4;
  cudaStream_t streams[kStreams];
  int* data[kStreams];
  int* host;
  CUDA(cudaMallocHost(&host, kStreams * n * sizeof(int)));
  int least, greatest;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int s = 0; s < kStreams; ++s) {
    CUDA(cudaStreamCreateWithPriority(&streams[s], cudaStreamNonBlocking, s % 2 ? greatest : least));
    CUDA(cudaMalloc(&data[s], n * sizeof(int)));
    CUDA(cudaMemsetAsync(data[s], 0, n * sizeof(int), streams[s]));
    for (int k = 1; k <= 10; ++k) AddTo<<<8, 128, 0, streams[s]>>>(data[s], n, k + s);
    CUDA(cudaMemcpyAsync(host + s * n, data[s], n * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
  }
  for (int s = 0; s < kStreams; ++s) {
    CUDA(cudaStreamSynchronize(streams[s]));
    CHECK_EQ(host[s * n], 55 + 10 * s);
    CHECK_EQ(host[s * n + n - 1], 55 + 10 * s);
  }
  cudaEvent_t done;
  CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  AddTo<<<8, 128, 0, streams[0]>>>(data[0], n, 1000);
  CUDA(cudaEventRecord(done, streams[0]));
  CUDA(cudaStreamWaitEvent(streams[1], done, 0));
  AddTo<<<8, 128, 0, streams[1]>>>(data[0], n, 1);
  CUDA(cudaStreamSynchronize(streams[1]));
  CHECK_EQ(cudaStreamQuery(streams[0]), cudaSuccess);
  CUDA(cudaMemcpy(host, data[0], sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_EQ(host[0], 1056);
  for (int s = 0; s < kStreams; ++s) CUDA(cudaStreamDestroy(streams[s]));
  CUDA(cudaFreeHost(host));
  return Verdict();
}
