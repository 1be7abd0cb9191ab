// Texture and surface objects. Where the device makes them (client/array/device_texture.h) a handle is its number. Else
// it is the address of a description in the client's window (guest/texture.h), where kernels read it directly; the
// program's descriptors follow it, for queries. The allocation table knows which addresses are handles. Behind an sRGB
// texture's follows what its bytes mean.
#pragma once

#include "client/base/answer.h"
#include "cuda/types.h"
#include "guest/texture.h"

namespace tutti::client {

class Context;

// The layout at a handle.
struct TextureRecord {
  guest::Texture texture;
  cuda::CUDA_RESOURCE_DESC resource;
  cuda::CUDA_TEXTURE_DESC sampling;
  cuda::CUDA_RESOURCE_VIEW_DESC view;
};

// INVALID_VALUE for invalid descriptions. `view`: all zero, or how the resource is seen. Thread-safe.
Answer<uint64_t> CreateTexture(Context& context, const cuda::CUDA_RESOURCE_DESC& resource,
                               const cuda::CUDA_TEXTURE_DESC& sampling, const cuda::CUDA_RESOURCE_VIEW_DESC& view);
Answer<uint64_t> CreateSurface(Context& context, const cuda::CUDA_RESOURCE_DESC& resource);

// The same as descriptions, for references; NOT_SUPPORTED for sRGB, whose table has its place behind an object.
Answer<guest::Texture> DescribeTexture(const cuda::CUDA_RESOURCE_DESC& resource,
                                       const cuda::CUDA_TEXTURE_DESC& sampling);
Answer<guest::Texture> DescribeSurface(const cuda::CUDA_RESOURCE_DESC& resource);

// INVALID_VALUE unless it is a handle of that kind. Work submitted before may still use the object. Thread-safe.
int DestroyTexture(uint64_t handle);
int DestroySurface(uint64_t handle);
Answer<TextureRecord> FindTexture(uint64_t handle);
Answer<TextureRecord> FindSurface(uint64_t handle);

}  // namespace tutti::client
