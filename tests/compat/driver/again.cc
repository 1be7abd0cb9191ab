// Told to start, allocates until the server is gone; then destroys its context and allocates again. Prints a CUresult
// each time.
#include <cstdio>

#include "driver_api.h"

using namespace tutti::cuda;

static CUresult AllocateOnce() {
  CUdeviceptr memory = 0;
  const CUresult status = cuMemAlloc_v2(&memory, 4096);
  return status == CUDA_SUCCESS ? cuMemFree_v2(memory) : status;
}

static void Say(const char* when, CUresult result) {
  std::printf("%s %d\n", when, result);
  std::fflush(stdout);
}

int main() {
  CUcontext context = nullptr;
  CUresult status = cuInit(0);
  if (status == CUDA_SUCCESS) status = cuDevicePrimaryCtxRetain(&context, 0);
  if (status == CUDA_SUCCESS) status = cuCtxSetCurrent(context);
  Say("holding", status);
  std::getchar();
  while ((status = AllocateOnce()) == CUDA_SUCCESS) {
  }
  Say("lost", status);
  Say("reset", cuDevicePrimaryCtxReset_v2(0));
  Say("again", AllocateOnce());
  return 0;
}
