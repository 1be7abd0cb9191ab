// Texture and surface objects. A handle is the address of a description in the client's window (guest/texture.h), where
// kernels find it without asking anybody; what the program gave stands behind it, for the queries. The allocation table
// knows which addresses are handles.
#pragma once

#include "client/base/answer.h"
#include "cuda/types.h"
#include "guest/texture.h"

namespace tutti::client {

class Context;

// What lies at a handle.
struct TextureRecord {
  guest::Texture texture;
  cuda::CUDA_RESOURCE_DESC resource;
  cuda::CUDA_TEXTURE_DESC sampling;
};

// INVALID_VALUE for descriptions that make no sense, NOT_SUPPORTED for mipmaps, cube maps and sRGB. Thread-safe.
Answer<uint64_t> CreateTexture(Context& context, const cuda::CUDA_RESOURCE_DESC& resource,
                               const cuda::CUDA_TEXTURE_DESC& sampling);
Answer<uint64_t> CreateSurface(Context& context, const cuda::CUDA_RESOURCE_DESC& resource);

// INVALID_VALUE for what is no handle of that kind. Work submitted before still finds the object. Thread-safe.
int DestroyTexture(uint64_t handle);
int DestroySurface(uint64_t handle);
Answer<TextureRecord> FindTexture(uint64_t handle);
Answer<TextureRecord> FindSurface(uint64_t handle);

}  // namespace tutti::client
