// libraries: what the libraries of the CPU device (src/libraries) take, beside libraries for processors.
#include <unistd.h>

#include <cstdlib>

#include "../driver.h"
#include "../report.h"
#include "blas.h"
#include "fft.h"

int main(int argc, char** argv) {
  // Some machines' environments make OpenBLAS take kernels for other processors than theirs. It reads this when it is
  // loaded.
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || std::getenv("OPENBLAS_L2_SIZE") != nullptr) {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    execv("/proc/self/exe", argv);
  }
  const std::string out = argc > 1 ? argv[1] : "build/bench";
  bench::OpenDevice();
  bench::Report report("libraries", "ratio: theirs / ours (above 1: ours is faster); aim: at least 0.3");
  bench::MeasureBlas(report);
  bench::MeasureFft(report);
  return report.Finish(out);
}
