// Graphs as programs use them: work of two streams captured, instantiated, launched many times, updated.
#include <vector>

#include "program.h"

__global__ void Scale(float* x, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
__global__ void Add(float* x, const float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}

constexpr int kCount = 4096;

// x = 2 x, y = 3 y beside it, then x += y.
cudaGraph_t Capture(cudaStream_t stream, cudaStream_t side, float* x, float* y, float factor) {
  cudaEvent_t fork, join;
  CUDA(cudaEventCreate(&fork));
  CUDA(cudaEventCreate(&join));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaEventRecord(fork, stream));
  CUDA(cudaStreamWaitEvent(side, fork, 0));
  Scale<<<kCount / 256, 256, 0, stream>>>(x, kCount, factor);
  Scale<<<kCount / 256, 256, 0, side>>>(y, kCount, 3);
  CUDA(cudaEventRecord(join, side));
  CUDA(cudaStreamWaitEvent(stream, join, 0));
  Add<<<kCount / 256, 256, 0, stream>>>(x, y, kCount);
  cudaGraph_t graph;
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaEventDestroy(fork));
  CUDA(cudaEventDestroy(join));
  return graph;
}

int main() {
  cudaStream_t stream, side;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaStreamCreate(&side));
  float *x, *y;
  CUDA(cudaMalloc(&x, kCount * sizeof(float)));
  CUDA(cudaMalloc(&y, kCount * sizeof(float)));
  const std::vector<float> ones(kCount, 1);
  CUDA(cudaMemcpy(x, ones.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(y, ones.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));

  const cudaGraph_t graph = Capture(stream, side, x, y, 2);
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK_EQ(nodes, size_t{3});
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  float expected_x = 1, expected_y = 1;
  const auto step = [&](float factor) {
    expected_y *= 3;
    expected_x = expected_x * factor + expected_y;
  };
  for (int i = 0; i < 3; ++i) {
    CUDA(cudaGraphLaunch(exec, stream));
    step(2);
  }
  const cudaGraph_t other = Capture(stream, side, x, y, 5);
  cudaGraphExecUpdateResultInfo info;
  CUDA(cudaGraphExecUpdate(exec, other, &info));
  CUDA(cudaGraphLaunch(exec, stream));
  step(5);
  std::vector<float> result(kCount);
  CUDA(cudaMemcpyAsync(result.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) CHECK_EQ(result[i], expected_x);

  // The same by hand: a memset node, then a kernel node.
  cudaGraph_t made;
  CUDA(cudaGraphCreate(&made, 0));
  cudaMemsetParams fill{};
  fill.dst = x;
  fill.elementSize = 4;
  fill.width = kCount;
  fill.height = 1;
  fill.value = 0x3f800000;  // 1.0f
  cudaGraphNode_t set, scale;
  CUDA(cudaGraphAddMemsetNode(&set, made, nullptr, 0, &fill));
  int count = kCount;
  float factor = 8;
  void* arguments[] = {&x, &count, &factor};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(Scale);
  kernel.gridDim = dim3(kCount / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  CUDA(cudaGraphAddKernelNode(&scale, made, &set, 1, &kernel));
  cudaGraphExec_t by_hand;
  CUDA(cudaGraphInstantiate(&by_hand, made, 0));
  CUDA(cudaGraphLaunch(by_hand, stream));
  CUDA(cudaMemcpyAsync(result.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) CHECK_EQ(result[i], 8.0f);

  // A captured kernel is found again by its host function, and what it is given can be changed.
  std::vector<cudaGraphNode_t> captured(nodes);
  CUDA(cudaGraphGetNodes(graph, captured.data(), &nodes));
  int adds = 0;
  for (const cudaGraphNode_t node : captured) {
    cudaKernelNodeParams found;
    CUDA(cudaGraphKernelNodeGetParams(node, &found));
    CHECK_EQ(found.blockDim.x, 256u);
    adds += found.func == reinterpret_cast<void*>(Add) ? 1 : 0;
  }
  CHECK_EQ(adds, 1);
  CUDA(cudaGraphKernelNodeGetParams(scale, &kernel));
  CHECK_EQ(kernel.func, reinterpret_cast<void*>(Scale));
  factor = 16;
  kernel.kernelParams = arguments;
  CUDA(cudaGraphExecKernelNodeSetParams(by_hand, scale, &kernel));
  CUDA(cudaGraphLaunch(by_hand, stream));
  CUDA(cudaMemcpyAsync(result.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK_EQ(result[0], 16.0f);

  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphExecDestroy(by_hand));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaGraphDestroy(other));
  CUDA(cudaGraphDestroy(made));
  return Verdict();
}
