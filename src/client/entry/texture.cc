// Texture and surface objects.
#include "client/array/texture.h"

#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  if (out == nullptr || resource == nullptr || sampling == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(*out, CreateTexture(*context, *resource, *sampling, view != nullptr ? *view : CUDA_RESOURCE_VIEW_DESC{}));
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject handle) { return DestroyTexture(handle); }

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const TextureRecord record, FindTexture(handle));
  *out = record.resource;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const TextureRecord record, FindTexture(handle));
  *out = record.sampling;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const TextureRecord record, FindTexture(handle));
  *out = record.view;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  if (out == nullptr || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(*out, CreateSurface(*context, *resource));
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) { return DestroySurface(handle); }

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN(const TextureRecord record, FindSurface(handle));
  *out = record.resource;
  return CUDA_SUCCESS;
}

}  // namespace tutti::client::entry
