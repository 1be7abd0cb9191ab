// A process that keeps one SM busy: share_client SECONDS BODIES DEPTH launches gravity kernels of one block each, DEPTH
// of them before each synchronisation, then writes the number of kernels done to stdout. For the share benchmark.
// Starts at a byte on stdin, so that all start together.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../examples/6_n_body/problem.h"
#include "base/clock.h"
#include "driver.h"

EMBED_TEXT(ptx, "6_n_body/n_body.ptx");

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  driver::Program program(ptx, "n_body_kernel");
  const std::vector<n_body::Vec4> all = n_body::Input();
  const uint32_t count = static_cast<uint32_t>(std::atoi(argc > 2 ? argv[2] : "2048"));
  const int depth = std::atoi(argc > 3 ? argv[3] : "8");
  driver::Buffer<n_body::Vec4> bodies(std::vector<n_body::Vec4>(all.begin(), all.begin() + count)),
      accelerations(count);
  program.Run(1, 256, 1, bodies.address(), accelerations.address(), count);
  std::printf("ready\n");
  std::fflush(stdout);
  char byte;
  if (read(0, &byte, 1) != 1) return 1;
  const uint64_t end_ns = tutti::NowNs() + static_cast<uint64_t>(seconds * 1e9);
  unsigned long kernels = 0;
  while (tutti::NowNs() < end_ns) {
    for (int i = 0; i < depth; ++i) program.Launch(1, 256, 1, bodies.address(), accelerations.address(), count);
    CHECK_CU(cuCtxSynchronize());
    kernels += static_cast<unsigned long>(depth);
  }
  std::printf("%lu\n", kernels);
  return 0;
}
