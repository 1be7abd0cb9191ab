#include "executor/zeros.h"

#include <algorithm>
#include <cstring>

namespace tutti::executor {

Zeros::Zeros(const Vendor& vendor) : vendor_(vendor) {
  void* memory = nullptr;
  const cuda::CUresult made = vendor_.cuMemHostAlloc(&memory, kBytes, cuda::CU_MEMHOSTALLOC_PORTABLE);
  if (made != cuda::CUDA_SUCCESS || memory == nullptr) return;
  std::memset(memory, 0, kBytes);
  zeros_ = memory;
}

Status Zeros::CopyTo(cuda::CUdeviceptr to, uint64_t bytes, cuda::CUstream stream) const {
  for (uint64_t done = 0; done < bytes; done += kBytes) {
    TUTTI_TRY(vendor_.Check(vendor_.cuMemcpyAsync(to + done, reinterpret_cast<cuda::CUdeviceptr>(zeros_),
                                                  std::min(kBytes, bytes - done), stream),
                            "cuMemcpyAsync"));
  }
  return {};
}

}  // namespace tutti::executor
