// Profiler control: there is no profiler, so the calls succeed without effect.
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuProfilerInitialize(const char*, const char*, CUoutput_mode) { return CUDA_SUCCESS; }
CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace tutti::client::entry
