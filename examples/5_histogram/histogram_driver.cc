// histogram.cu on the driver API, with the kernel as PTX text.
#include "../common/driver_program.h"
#include "problem.h"

EMBED_TEXT(ptx, "5_histogram/histogram.ptx");

int main(int argc, char** argv) {
  using namespace histogram;
  const example::Options options = example::Parse(argc, argv, kDefaults);
  const std::vector<uint32_t> words = Input();

  driver::Program program(ptx, "histogram_kernel");
  driver::Buffer<uint32_t> device_words(words), device_bins(kBins);
  device_bins.Clear();
  example::Loop loop(options);
  while (loop.Next()) program.Run(options.blocks, kThreads, 1, device_words.address(), kCount, device_bins.address());
  const double seconds = loop.Seconds();
  return example::Report("histogram", loop, seconds, kBins, CountWrong(words, device_bins.Read(), loop.rounds()));
}
