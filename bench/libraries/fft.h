// Transforms by the CPU device's cuFFT, beside FFTW on the same processors.
#pragma once

#include "../report.h"

namespace bench {

// Adds the rows. A device is open; FFTW may use two threads.
void MeasureFft(Report& report);

}  // namespace bench
