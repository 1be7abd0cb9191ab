// Primary contexts.
#include "client/context/context.h"
#include "client/context/device.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_TRY(device->primary().Retain());
  *context = device->primary().handle();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  Device* device = Device::Find(ordinal);
  return device != nullptr ? device->primary().Release() : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  Device* device = Device::Find(ordinal);
  return device != nullptr ? device->primary().Reset() : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int* flags, int* active) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary().flags();
  *active = device->primary().active();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags) {
  Device* device = Device::Find(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
  device->primary().SetFlags(flags);
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
