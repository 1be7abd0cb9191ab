// reduction.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "3_reduction/reduction.ptx");

int main(int argc, char** argv) {
  using namespace reduction;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<uint32_t> values = Input();
  const uint32_t expected = Sum(values);

  driver::Program program(ptx, "reduction_kernel");
  driver::Buffer<uint32_t> device_values(values), device_result(1);
  uint64_t wrong = 0;
  example::Loop loop(options);
  while (loop.Next()) {
    device_result.Clear();
    program.Run(options.blocks, kThreads, 1, device_values.address(), kCount, device_result.address());
    wrong += device_result.Read()[0] != expected;
  }
  const double seconds = loop.Seconds();
  return example::Report("reduction", loop, seconds, loop.rounds(), wrong);
}
