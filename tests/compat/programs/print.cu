// Device-side printf arrives on stdout, between what the host prints before and after.
#include <unistd.h>

#include <cstring>
#include <string>

#include "program.h"

__global__ void Greet() { printf("block %d thread %d of %s %.2f\n", blockIdx.x, threadIdx.x, "all", 1.5); }

int main() {
  int ends[2];
  if (pipe(ends) != 0) return 2;
  const int terminal = dup(1);
  dup2(ends[1], 1);
  printf("before\n");
  Greet<<<2, 2>>>();
  CUDA(cudaDeviceSynchronize());
  printf("after\n");
  fflush(stdout);
  dup2(terminal, 1);
  char text[4096] = "";
  const ssize_t length = read(ends[0], text, sizeof text - 1);
  const std::string seen(text, length > 0 ? length : 0);
  CHECK_EQ(seen.find("before\n"), size_t{0});
  CHECK_EQ(seen.substr(seen.size() - 6), std::string("after\n"));
  for (const char* line : {"block 0 thread 0 of all 1.50\n", "block 1 thread 1 of all 1.50\n"}) {
    CHECK_EQ(seen.find(line) != std::string::npos, true);
  }
  return Verdict();
}
