// n_body.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "6_n_body/n_body.ptx");

int main(int argc, char** argv) {
  using namespace n_body;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<Vec4> bodies = Input();

  driver::Program program(ptx, "n_body_kernel");
  driver::Buffer<Vec4> device_bodies(bodies), device_accelerations(kCount);
  example::Loop loop(options);
  while (loop.Next())
    program.Run(options.blocks, kThreads, 1, device_bodies.address(), device_accelerations.address(), kCount);
  const double seconds = loop.Seconds();
  return example::Report("n_body", loop, seconds, kCount, CountWrong(bodies, device_accelerations.Read()));
}
