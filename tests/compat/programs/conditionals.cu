// Graphs that decide for themselves: bodies by hand and captured, IF with else, WHILE, SWITCH.
#include <vector>

#include "graph_nodes.h"
#include "program.h"

__global__ void Choose(cudaGraphConditionalHandle handle, const unsigned* value) {
  cudaGraphSetConditional(handle, *value);
}
__global__ void Write(unsigned* data, unsigned value) { *data = value; }
__global__ void Double(unsigned* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] *= 2;
}
// The last thread decides, as programs do that converge: until the first element has reached the bound.
__global__ void GoOnBelow(cudaGraphConditionalHandle handle, const unsigned* data, unsigned bound) {
  if (threadIdx.x == blockDim.x - 1) cudaGraphSetConditional(handle, data[0] < bound);
}

constexpr int kCount = 500;

cudaGraphNode_t AddConditional(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphConditionalHandle handle,
                               cudaGraphConditionalNodeType type, unsigned size, std::vector<cudaGraph_t>* bodies) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
  CUDA(cudaGraphAddNode(&node, graph, &before, nullptr, before != nullptr ? 1 : 0, &p));
#else
  CUDA(cudaGraphAddNode(&node, graph, &before, before != nullptr ? 1 : 0, &p));
#endif
  bodies->assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
  return node;
}

unsigned ValueOf(const unsigned* data) {
  unsigned value = 0;
  CUDA(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

int main() {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  unsigned *data, *choice, *result;
  CUDA(cudaMalloc(&data, kCount * sizeof(unsigned)));
  CUDA(cudaMalloc(&choice, sizeof(unsigned)));
  CUDA(cudaMalloc(&result, sizeof(unsigned)));
  std::vector<cudaGraph_t> bodies;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphConditionalHandle handle;

  // IF with an else, and a switch, chosen by a kernel before them.
  for (const auto type : {cudaGraphCondTypeIf, cudaGraphCondTypeSwitch}) {
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphConditionalHandleCreate(&handle, graph));
    cudaGraphNode_t chosen = AddKernel<cudaGraphConditionalHandle, const unsigned*>(graph, nullptr, Choose, handle, choice);
    AddConditional(graph, chosen, handle, type, 2, &bodies);
    AddKernel<unsigned*, unsigned>(bodies[0], nullptr, Write, result, 10);
    AddKernel<unsigned*, unsigned>(bodies[1], nullptr, Write, result, 11);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned value = 0; value < 3; ++value) {
      CUDA(cudaMemcpy(choice, &value, sizeof value, cudaMemcpyHostToDevice));
      CUDA(cudaMemset(result, 0, sizeof(unsigned)));
      CUDA(cudaGraphLaunch(exec, stream));
      CUDA(cudaStreamSynchronize(stream));
      const unsigned expected = type == cudaGraphCondTypeIf ? (value != 0 ? 10 : 11) : value < 2 ? 10 + value : 0;
      CHECK_EQ(ValueOf(result), expected);
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
  }

  // A loop whose body is captured, made from within a capture, as libraries do it.
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CUDA(cudaMemsetAsync(data, 1, kCount * sizeof(unsigned), stream));
  cudaStreamCaptureStatus status;
  const cudaGraphNode_t* last;
  size_t count;
#if CUDART_VERSION >= 13000
  CUDA(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
#else
  CUDA(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, &last, &count));
#endif
  CHECK_EQ(count, size_t{1});
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNode_t loop = AddConditional(graph, last[0], handle, cudaGraphCondTypeWhile, 1, &bodies);
#if CUDART_VERSION >= 13000
  CUDA(cudaStreamUpdateCaptureDependencies(stream, &loop, nullptr, 1, cudaStreamSetCaptureDependencies));
#else
  CUDA(cudaStreamUpdateCaptureDependencies(stream, &loop, 1, cudaStreamSetCaptureDependencies));
#endif
  cudaStream_t inner;
  CUDA(cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking));
  const cudaGraph_t body = bodies[0];
  CUDA(cudaStreamBeginCaptureToGraph(inner, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  Double<<<1, 64, 0, inner>>>(data, kCount);
  GoOnBelow<<<1, 33, 0, inner>>>(handle, data, 0x70000000u);
  cudaGraph_t captured;
  CUDA(cudaStreamEndCapture(inner, &captured));
  CHECK_EQ(captured, body);
  CUDA(cudaMemcpyAsync(result, data, sizeof(unsigned), cudaMemcpyDeviceToDevice, stream));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 3; ++launch) {
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK_EQ(ValueOf(result), 0x01010101u << 7);
    CHECK_EQ(ValueOf(data + kCount - 1), 0x01010101u << 7);
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));

  // What a graph with conditional nodes may not be.
  CUDA(cudaGraphCreate(&graph, 0));
  CUDA(cudaGraphConditionalHandleCreate(&handle, graph));
  AddConditional(graph, nullptr, handle, cudaGraphCondTypeIf, 1, &bodies);
  cudaGraph_t clone;
  CHECK_EQ(cudaGraphClone(&clone, graph), cudaErrorInvalidValue);
  CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(inner));
  return Verdict();
}
