// Products by the CPU device's cuBLAS, beside OpenBLAS on the same processors.
#pragma once

#include "../report.h"

namespace bench {

// Adds the rows. A device is open.
void MeasureBlas(Report& report);

}  // namespace bench
