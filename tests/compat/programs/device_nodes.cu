// Nodes of graphs that kernels change: parameters, grids, and whether they run at all.
#include "graph_nodes.h"
#include "program.h"

__global__ void Write(int* data, int value, int more) { data[blockIdx.x] = value + more; }
__global__ void SetBoth(cudaGraphDeviceNode_t node, const int* value, int* errors) {
  errors[0] = cudaGraphKernelNodeSetParam(node, 8, *value);
  errors[1] = cudaGraphKernelNodeSetGridDim(node, dim3(4));
}
__global__ void Disable(cudaGraphDeviceNode_t node, bool enable, int* errors) {
  errors[0] = cudaGraphKernelNodeSetEnabled(node, enable);
}
__global__ void Batch(cudaGraphDeviceNode_t node, int count, int* errors) {
  alignas(8) char storage[3 * sizeof(cudaGraphKernelNodeUpdate)];  // it has no constructor
  auto* const updates = reinterpret_cast<cudaGraphKernelNodeUpdate*>(storage);
  const int both[2] = {30, 7};
  updates[0].node = updates[1].node = updates[2].node = node;
  updates[0].field = cudaGraphKernelNodeFieldParam;
  updates[0].updateData.param.pValue = both;
  updates[0].updateData.param.offset = 8;
  updates[0].updateData.param.size = sizeof both;
  updates[1].field = cudaGraphKernelNodeFieldGridDim;
  updates[1].updateData.gridDim = dim3(3);
  updates[2].field = cudaGraphKernelNodeFieldEnabled;
  updates[2].updateData.isEnabled = 1;
  errors[0] = cudaGraphKernelNodeUpdatesApply(updates, count);
}
__global__ void Mistakes(cudaGraphDeviceNode_t node, int* errors) {
  errors[0] = cudaGraphKernelNodeSetParam(node, 13, errors[7]);  // beyond its 16 bytes
  errors[1] = cudaGraphKernelNodeSetParam(node, ~size_t{0}, errors[7]);
  errors[2] = cudaGraphKernelNodeSetGridDim(node, dim3(0));
  errors[3] = cudaGraphKernelNodeSetEnabled(reinterpret_cast<cudaGraphDeviceNode_t>(0x1234), true);
  alignas(8) char storage[sizeof(cudaGraphKernelNodeUpdate)];
  auto& update = *reinterpret_cast<cudaGraphKernelNodeUpdate*>(storage);
  update.node = node;
  update.field = cudaGraphKernelNodeFieldInvalid;
  update.updateData.isEnabled = 0;
  errors[4] = cudaGraphKernelNodeUpdatesApply(&update, 1);
  errors[5] = cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(node), cudaStreamGraphFireAndForget);
}

cudaStream_t stream;

cudaGraphDeviceNode_t Updatable(cudaGraphNode_t node) {
  cudaLaunchAttributeValue value{};
  value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  CUDA(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
  cudaLaunchAttributeValue read{};
  CUDA(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeDeviceUpdatableKernelNode, &read));
  CHECK_EQ(read.deviceUpdatableKernelNode.deviceUpdatable, 1);
  CHECK_EQ(read.deviceUpdatableKernelNode.devNode, value.deviceUpdatableKernelNode.devNode);
  return value.deviceUpdatableKernelNode.devNode;
}

// A node that changes another one behind it, in a graph; `expected`: what that then writes.
struct Case {
  int *data, *errors;
  cudaGraph_t graph;
  cudaGraphNode_t written, first;
  cudaGraphDeviceNode_t node;

  Case() {
    CUDA(cudaMallocManaged(&data, 4096));
    errors = data + 64;
    CUDA(cudaGraphCreate(&graph, 0));
    written = AddKernel(graph, nullptr, Write, data, 1, 0);
    node = Updatable(written);
  }
  void Check(cudaGraphNode_t changes, int error, int wrote, int blocks) {
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddDependencies(graph, &changes, &written, nullptr, 1));
#else
    CUDA(cudaGraphAddDependencies(graph, &changes, &written, 1));
#endif
    for (const unsigned flags : {0u, unsigned(cudaGraphInstantiateFlagDeviceLaunch)}) {
      cudaGraphExec_t exec;
      CUDA(cudaGraphInstantiate(&exec, graph, flags));
      CUDA(cudaGraphUpload(exec, stream));
      for (int i = 0; i < 8; ++i) data[i] = -1;
      CUDA(cudaGraphLaunch(exec, stream));
      CUDA(cudaStreamSynchronize(stream));
      CHECK_EQ(errors[0], error);
      for (int i = 0; i < 8; ++i) CHECK_EQ(data[i], i < blocks ? wrote : -1);
      CUDA(cudaGraphExecDestroy(exec));
    }
  }
};

int main() {
  CUDA(cudaStreamCreate(&stream));
  {
    Case c;
    c.data[100] = 20;
    c.Check(AddKernel(c.graph, nullptr, SetBoth, c.node, static_cast<const int*>(c.data + 100), c.errors), cudaSuccess,
            20, 4);
    CHECK_EQ(c.errors[1], cudaSuccess);
  }
  {
    Case c;
    c.Check(AddKernel(c.graph, nullptr, Disable, c.node, false, c.errors), cudaSuccess, 0, 0);
  }
  {
    Case c;
    c.Check(AddKernel(c.graph, nullptr, Batch, c.node, 3, c.errors), cudaSuccess, 37, 3);
  }
  {
    Case c;
    c.Check(AddKernel(c.graph, nullptr, Mistakes, c.node, c.errors), cudaErrorInvalidValue, 1, 1);
    for (int i = 1; i < 6; ++i) CHECK_EQ(c.errors[i], cudaErrorInvalidValue);
  }
  // What the host has disabled a kernel enables, and an upload resets; captured, with the node's name in the attribute.
  {
    Case c;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    attribute.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, Write, c.data, 5, 0));
    CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec, second;
    CUDA(cudaGraphInstantiate(&exec, graph));
    CHECK_EQ(cudaGraphInstantiate(&second, graph), cudaErrorInvalidValue);  // one at a time
    cudaGetLastError();
    cudaGraphNode_t node;
    size_t nodes = 1;
    CUDA(cudaGraphGetNodes(graph, &node, &nodes));
    CUDA(cudaGraphNodeSetEnabled(exec, node, 0));
    const auto run = [&] {
      c.data[0] = -1;
      CUDA(cudaGraphLaunch(exec, stream));
      CUDA(cudaStreamSynchronize(stream));
      return c.data[0];
    };
    CHECK_EQ(run(), -1);
    Disable<<<1, 1, 0, stream>>>(attribute.val.deviceUpdatableKernelNode.devNode, true, c.errors);
    CHECK_EQ(run(), 5);
    CHECK_EQ(c.errors[0], cudaSuccess);
    CHECK_EQ(cudaGraphDestroyNode(node), cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK_EQ(cudaLaunchKernelEx(&config, Write, c.data, 5, 0), cudaErrorInvalidValue);  // not captured
  }
  return Verdict();
}
