#include "libraries/blas/handle.h"

#include <new>

#include "libraries/common/context.h"

namespace tutti::blas {

Status Handle::Make(Handle** handle) {
  *handle = nullptr;
  if (libraries::EnsureContext() != cuda::CUDA_SUCCESS) return kNotInitialized;
  auto* const made = new (std::nothrow) Handle;
  if (made == nullptr) return kAllocFailed;
  constexpr size_t kResultBytes = 64;
  constexpr unsigned kPortable = 1;  // in all contexts
  if (cuda::cuMemHostAlloc(&made->result_, kResultBytes, kPortable) != cuda::CUDA_SUCCESS) {
    made->result_ = nullptr;
    delete made;
    return kAllocFailed;
  }
  *handle = made;
  return kSuccess;
}

Handle::~Handle() {
  mark_ = 0;
  if (result_ != nullptr) cuda::cuMemFreeHost(result_);
}

}  // namespace tutti::blas
