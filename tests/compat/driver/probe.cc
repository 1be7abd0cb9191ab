// Starts CUDA, allocates and frees, and prints the first CUresult that is not success (0 if there is none).
#include <cstdio>

#include "driver_api.h"

using namespace tutti::cuda;

static CUresult Probe() {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  if (const CUresult status = cuInit(0); status != 0) return status;
  if (const CUresult status = cuDevicePrimaryCtxRetain(&context, 0); status != 0) return status;
  if (const CUresult status = cuCtxSetCurrent(context); status != 0) return status;
  if (const CUresult status = cuMemAlloc_v2(&memory, 4096); status != 0) return status;
  return cuMemFree_v2(memory);
}

int main() {
  std::printf("%d\n", Probe());
  return 0;
}
