// A program whose kernel never ends, or where the file says "// in a loop", whose graph repeats its kernel for ever:
// endless_program FILE.ptx. Prints "running" once the kernel has begun, waits for it and prints the CUresult that ended
// it; exit status 1, also after any earlier error.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/compat/driver_api.h"

using namespace tutti::cuda;

namespace {

void Check(CUresult status) {
  if (status == 0) return;
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != 0 || name == nullptr) name = "an unknown CUresult";
  std::printf("%s\n", name);
  std::exit(1);
}

// As the body of a conditional node of which nobody changes the value.
void LaunchInLoop(CUfunction kernel, void** arguments, CUcontext context) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNodeParams loop{};
  loop.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  loop.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  loop.conditional.size = 1;
  Check(cuGraphCreate(&graph, 0));
  Check(cuGraphConditionalHandleCreate(&loop.conditional.handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  Check(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &loop));
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = kernel;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
  p.blockDimX = 128;
  p.kernelParams = arguments;
  Check(cuGraphAddKernelNode_v2(&node, loop.conditional.phGraph_out[0], nullptr, 0, &p));
  Check(cuGraphInstantiateWithFlags(&exec, graph, 0));
  Check(cuGraphLaunch(exec, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: endless_program FILE.ptx\n"), 3;
  std::ifstream file(argv[1]);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  void* flag = nullptr;
  CUdeviceptr device_flag = 0;
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  Check(cuModuleLoadData(&module, ptx.c_str()));
  Check(cuModuleGetFunction(&kernel, module, "k"));
  Check(cuMemHostAlloc(&flag, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
  Check(cuMemHostGetDevicePointer_v2(&device_flag, flag, 0));
  std::atomic_ref<uint32_t> begun(*static_cast<uint32_t*>(flag));
  begun = 0;
  void* arguments[] = {&device_flag};
  if (ptx.find("// in a loop") != std::string::npos) {
    LaunchInLoop(kernel, arguments, context);
  } else {
    Check(cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  }
  while (begun == 0) usleep(1000);
  std::puts("running");
  std::fflush(stdout);
  Check(cuCtxSynchronize());
  std::puts("the kernel has ended");
  return 1;
}
