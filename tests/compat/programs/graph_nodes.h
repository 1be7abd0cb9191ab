// Nodes of graphs, as programs here add them.
#pragma once

#include "program.h"

// A kernel of one thread, behind `before` if that is not null.
template <typename... Arguments>
cudaGraphNode_t AddKernel(cudaGraph_t graph, cudaGraphNode_t before, void (*kernel)(Arguments...),
                          Arguments... arguments) {
  void* pointers[] = {&arguments...};
  cudaKernelNodeParams p{};
  p.func = reinterpret_cast<void*>(kernel);
  p.gridDim = dim3(1);
  p.blockDim = dim3(1);
  p.kernelParams = pointers;
  cudaGraphNode_t node;
  CUDA(cudaGraphAddKernelNode(&node, graph, &before, before != nullptr ? 1 : 0, &p));
  return node;
}
