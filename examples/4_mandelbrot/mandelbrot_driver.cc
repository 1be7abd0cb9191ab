// mandelbrot.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "4_mandelbrot/mandelbrot.ptx");

int main(int argc, char** argv) {
  using namespace mandelbrot;
  const example::Options options = example::Parse(argc, argv, kDefaults);

  driver::Program program(ptx, "mandelbrot_kernel");
  driver::Buffer<uint32_t> device_counts(kWidth * kHeight);
  example::Loop loop(options);
  while (loop.Next()) program.Run(options.blocks, kThreads, 1, device_counts.address(), kWidth, kHeight);
  const double seconds = loop.Seconds();
  return example::Report("mandelbrot", loop, seconds, kWidth * kHeight, CountWrong(device_counts.Read()));
}
