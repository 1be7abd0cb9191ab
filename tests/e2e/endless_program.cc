// A program whose kernel never ends: endless_program FILE.ptx. Prints "running" once the kernel has begun, waits for it
// and prints the CUresult that ended it; exit status 1, also after any earlier error.
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
  Check(cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  while (begun == 0) usleep(1000);
  std::puts("running");
  std::fflush(stdout);
  Check(cuCtxSynchronize());
  std::puts("the kernel has ended");
  return 1;
}
