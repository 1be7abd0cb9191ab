// Texture and surface objects.
#include "client/array/texture.h"

#include "client/base/complaint.h"
#include "client/context/context.h"
#include "client/context/current.h"
#include "client/entry/entries.h"

namespace tutti::client::entry {

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* sampling,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  if (out == nullptr || resource == nullptr || sampling == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (view != nullptr && view->format != CU_RES_VIEW_FORMAT_NONE)
    return Complain(CUDA_ERROR_NOT_SUPPORTED, "textures with a resource view are not supported");
  CU_ASSIGN(Context* const context, UsableContext());
  CU_ASSIGN(*out, CreateTexture(*context, *resource, *sampling));
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

// No object has a view.
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CU_ASSIGN([[maybe_unused]] const TextureRecord record, FindTexture(handle));
  *out = {};
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
