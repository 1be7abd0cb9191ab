// vector_add.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "1_vector_add/vector_add.ptx");

int main(int argc, char** argv) {
  using namespace vector_add;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<float> a = Input(0), b = Input(kCount);

  driver::Program program(ptx, "vector_add_kernel");
  driver::Buffer<float> device_a(a), device_b(b), device_c(kCount);
  example::Loop loop(options);
  while (loop.Next()) {
    program.Run(options.blocks, kThreads, 1, device_a.address(), device_b.address(), device_c.address(), kCount);
  }
  const double seconds = loop.Seconds();
  return example::Report("vector_add", loop, seconds, kCount, CountWrong(a, b, device_c.Read()));
}
