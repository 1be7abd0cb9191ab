// Attaches, runs one kernel and writes a byte to descriptor 1. For the attach benchmark.
#include <unistd.h>

#include "driver.h"

int main() {
  bench::OpenDevice();
  const CUfunction empty = bench::GetFunction(bench::LoadModule(bench::kEmptyKernel), "empty");
  bench::Launch(empty, 1, 1, 1, 1, nullptr);
  CHECK_CU(cuCtxSynchronize());
  return write(1, "k", 1) == 1 ? 0 : 1;
}
