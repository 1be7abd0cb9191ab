// Arrays.
#include "client/array/array.h"

#include "client/array/mipmapped_array.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(Array* const array, Array::Create(*context, *descriptor));
  *out = array->handle();
  return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR full{.Width = descriptor->Width,
                                     .Height = descriptor->Height,
                                     .Depth = 0,
                                     .Format = descriptor->Format,
                                     .NumChannels = descriptor->NumChannels,
                                     .Flags = 0};
  return cuArray3DCreate_v2(out, &full);
}

CUresult cuArrayDestroy(CUarray handle) {
  Array* array = Array::Find(handle);
  return array != nullptr ? Array::Destroy(array) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray handle) {
  const Array* array = Array::Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *descriptor = array->descriptor();
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray handle) {
  const Array* array = Array::Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& full = array->descriptor();
  *descriptor = {full.Width, full.Height, full.Format, full.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(MipmappedArray* const array, MipmappedArray::Create(*context, *descriptor, levels));
  *out = array->handle();
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned level) {
  const MipmappedArray* array = MipmappedArray::Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || level >= array->levels()) return CUDA_ERROR_INVALID_VALUE;
  *out = array->level(level)->handle();
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  MipmappedArray* array = MipmappedArray::Find(handle);
  return array != nullptr ? MipmappedArray::Destroy(array) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace tutti::client::entry
