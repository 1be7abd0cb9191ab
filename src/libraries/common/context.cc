#include "libraries/common/context.h"

namespace tutti::libraries {

CUresult EnsureContext() {
  CUcontext context = nullptr;
  if (const CUresult got = cuCtxGetCurrent(&context); got == CUDA_SUCCESS && context != nullptr) return CUDA_SUCCESS;
  CUresult status = cuInit(0);
  CUdevice device = 0;
  if (status == CUDA_SUCCESS) status = cuDeviceGet(&device, 0);
  if (status == CUDA_SUCCESS) status = cuDevicePrimaryCtxRetain(&context, device);
  if (status == CUDA_SUCCESS) status = cuCtxSetCurrent(context);
  return status;
}

bool IsCapturing(CUstream stream) {
  constexpr CUstreamCaptureStatus kNone = 0;
  CUstreamCaptureStatus state = kNone;
  return cuStreamIsCapturing(stream, &state) == CUDA_SUCCESS && state != kNone;
}

}  // namespace tutti::libraries
