// matrix_multiply.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "2_matrix_multiply/matrix_multiply.ptx");

int main(int argc, char** argv) {
  using namespace matrix_multiply;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<float> a = Input(0), b = Input(kSize * kSize);

  driver::Program program(ptx, "matrix_multiply_kernel");
  driver::Buffer<float> device_a(a), device_b(b), device_c(a.size());
  example::Loop loop(options);
  while (loop.Next()) {
    program.Run(options.blocks, 16, 16, device_a.address(), device_b.address(), device_c.address(), kSize);
  }
  const double seconds = loop.Seconds();
  return example::Report("matrix_multiply", loop, seconds, a.size(), CountWrong(a, b, device_c.Read()));
}
