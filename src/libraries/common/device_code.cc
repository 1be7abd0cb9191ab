#include "libraries/common/device_code.h"

namespace tutti::libraries {

CUresult DeviceCode::Load(CUlibrary* library) {
  *library = library_.load(std::memory_order_acquire);  // pairs with the store below
  if (*library != nullptr) return CUDA_SUCCESS;
  const std::lock_guard lock(loading_);
  *library = library_.load(std::memory_order_relaxed);
  if (*library != nullptr) return CUDA_SUCCESS;
  const CUresult loaded = cuLibraryLoadData(library, ptx_, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (loaded == CUDA_SUCCESS) library_.store(*library, std::memory_order_release);
  return loaded;
}

CUresult Kernel::Find(CUfunction* function) {
  CUkernel kernel = kernel_.load(std::memory_order_acquire);  // pairs with the store below
  if (kernel == nullptr) {
    CUlibrary library = nullptr;
    CUresult status = code_->Load(&library);
    if (status == CUDA_SUCCESS) status = cuLibraryGetKernel(&kernel, library, name_);
    if (status != CUDA_SUCCESS) return status;
    kernel_.store(kernel, std::memory_order_release);
  }
  *function = reinterpret_cast<CUfunction>(kernel);  // cuLaunchKernel takes either
  return CUDA_SUCCESS;
}

}  // namespace tutti::libraries
