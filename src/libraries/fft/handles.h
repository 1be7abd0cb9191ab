// The plans of the process, by the numbers that programs have for them.
#pragma once

#include <memory>

#include "libraries/fft/plan.h"

namespace tutti::fft {

// Thread-safe. A plan that is destroyed while another thread uses it lives until that call returns.
FftHandle AddPlan();
std::shared_ptr<Plan> FindPlan(FftHandle handle);  // null for none
bool RemovePlan(FftHandle handle);

}  // namespace tutti::fft
