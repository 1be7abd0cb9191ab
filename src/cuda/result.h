// CUresult: the error numbers of the driver ABI (cuda/result.def).
#pragma once

namespace tutti::cuda {

enum Result : int {
#define X(name, value) name = value,
#include "cuda/result.def"
#undef X
};

// "CUDA_ERROR_INVALID_VALUE"; null for a number that is no CUresult.
const char* ResultName(int result);

// Whether an error is the whole context's from then on: the driver API says of it that the process must be ended.
bool EndsContext(int result);

}  // namespace tutti::cuda
