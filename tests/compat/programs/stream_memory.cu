// Streams that wait for flags: set by a kernel, by the program and by another stream. The runtime has no calls of its
// own for it, so programs ask it for the driver's.
#include <cuda.h>

#include "program.h"

__global__ void Produce(int* data, int n, volatile unsigned* flag, unsigned value) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = static_cast<int>(value) + i;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *flag = value;
}
__global__ void Sum(const int* data, int n, int* sum) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(sum, data[i]);
}

template <typename Function>
Function DriverFunction(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  CHECK_EQ(result, cudaDriverEntryPointSuccess);
  return reinterpret_cast<Function>(found);
}
#define DRIVER(call) CHECK_EQ(call, CUDA_SUCCESS)

int main() {
  const auto wait_value = DriverFunction<decltype(&cuStreamWaitValue32)>("cuStreamWaitValue32");
  const auto write_value = DriverFunction<decltype(&cuStreamWriteValue32)>("cuStreamWriteValue32");
  const auto batch = DriverFunction<decltype(&cuStreamBatchMemOp)>("cuStreamBatchMemOp");
  constexpr int kCount = 1000, kRounds = 20;
  cudaStream_t producer, consumer;
  CUDA(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  int *data, *sum;
  unsigned *flags, *on_device;
  CUDA(cudaMalloc(&data, kCount * sizeof(int)));
  CUDA(cudaMalloc(&sum, sizeof(int)));
  CUDA(cudaMalloc(&on_device, 2 * sizeof(unsigned)));
  CUDA(cudaMemset(sum, 0, sizeof(int)));
  CUDA(cudaMemset(on_device, 0, 2 * sizeof(unsigned)));
  CUDA(cudaHostAlloc(&flags, sizeof(unsigned), cudaHostAllocMapped));
  *static_cast<volatile unsigned*>(flags) = 0;
  const auto ready = reinterpret_cast<CUdeviceptr>(on_device), taken = ready + 4;

  // A ring of one slot: the consumer's waits are submitted before what they wait for.
  int expected = 0;
  for (unsigned round = 1; round <= kRounds; ++round) {
    DRIVER(wait_value(consumer, ready, round, CU_STREAM_WAIT_VALUE_GEQ));
    Sum<<<1, 128, 0, consumer>>>(data, kCount, sum);
    DRIVER(write_value(consumer, taken, round, CU_STREAM_WRITE_VALUE_DEFAULT));
    expected += kCount * static_cast<int>(round) + kCount * (kCount - 1) / 2;
  }
  for (unsigned round = 1; round <= kRounds; ++round) {
    DRIVER(wait_value(producer, taken, round - 1, CU_STREAM_WAIT_VALUE_GEQ));
    Produce<<<1, 128, 0, producer>>>(data, kCount, on_device, round);
  }
  CUDA(cudaStreamSynchronize(consumer));
  int result = 0;
  CUDA(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
  CHECK_EQ(result, expected);

  // Captured, and opened by the program.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(consumer, cudaStreamCaptureModeThreadLocal));
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[0].waitValue.address = reinterpret_cast<CUdeviceptr>(flags);
  operations[0].waitValue.value = 1;
  operations[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[1].writeValue.address = reinterpret_cast<CUdeviceptr>(flags);
  operations[1].writeValue.value = 2;
  DRIVER(batch(consumer, 2, operations, 0));
  Sum<<<1, 128, 0, consumer>>>(data, kCount, sum);
  CUDA(cudaStreamEndCapture(consumer, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaMemset(sum, 0, sizeof(int)));
  for (int launch = 0; launch < 3; ++launch) {
    *static_cast<volatile unsigned*>(flags) = 0;
    CUDA(cudaGraphLaunch(exec, consumer));
    CHECK_EQ(cudaStreamQuery(consumer), cudaErrorNotReady);
    *static_cast<volatile unsigned*>(flags) = 1;
    CUDA(cudaStreamSynchronize(consumer));
    CHECK_EQ(*static_cast<volatile unsigned*>(flags), 2u);
  }
  CUDA(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
  CHECK_EQ(result, 3 * (kCount * kRounds + kCount * (kCount - 1) / 2));
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  return Verdict();
}
