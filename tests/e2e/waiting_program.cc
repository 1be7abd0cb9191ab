// A program with a stream that waits for a value that never comes. Prints "running" once the stream waits, waits for it
// and prints the CUresult that ended it; exit status 1, also after any earlier error. With --leave it ends instead,
// with status 0.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

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
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr value = 0;
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Check(cuMemAlloc_v2(&value, sizeof(uint32_t)));
  Check(cuMemsetD32_v2(value, 0, 1));
  Check(cuStreamWaitValue32_v2(stream, value, 1, CU_STREAM_WAIT_VALUE_EQ));
  usleep(100'000);  // it is being looked for by now
  if (cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) return std::puts("the stream does not wait"), 1;
  std::puts("running");
  std::fflush(stdout);
  if (argc == 2 && std::string_view(argv[1]) == "--leave") return 0;
  Check(cuStreamSynchronize(stream));
  std::puts("the value has come");
  return 1;
}
