// Access between devices. All devices of a server share one window, so each can reach all memory.
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/context/device.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (Device::Find(device) == nullptr || Device::Find(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  if (Device::Find(source) == nullptr || Device::Find(destination) == nullptr || source == destination)
    return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
      attribute > CU_DEVICE_P2P_ATTRIBUTE_LAST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK && attribute != CU_DEVICE_P2P_ATTRIBUTE_LAST;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  Context* peer = Context::Find(handle);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  if (&peer->device() == &context->device()) return CUDA_ERROR_INVALID_DEVICE;
  const uint32_t bit = 1u << peer->device().ordinal();
  return (context->peers.fetch_or(bit) & bit) != 0 ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  Context* peer = Context::Find(handle);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  CU_ASSIGN(Context* const context, UsableContext());
  const uint32_t bit = 1u << peer->device().ordinal();
  return (context->peers.fetch_and(~bit) & bit) == 0 ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
