// What a texture or surface reads and writes: where the texels are, how many, and of which format.
#pragma once

#include "client/base/answer.h"
#include "cuda/types.h"
#include "guest/texture.h"

namespace tutti::client {

class Array;

// The array behind a texture, of a mipmapped one the first level; null if there is none.
const Array* ArrayOf(const cuda::CUDA_RESOURCE_DESC& resource);

// The array that `view` is of. It tells that array's own extents, since it changes none: INVALID_VALUE otherwise, and
// for resources that are no arrays.
Answer<const Array*> ArraySeen(const cuda::CUDA_RESOURCE_DESC& resource, const cuda::CUDA_RESOURCE_VIEW_DESC& view);

// The texels of a resource, seen through `view` (all zero: as they are). INVALID_VALUE or INVALID_HANDLE for what is
// not one, NOT_SUPPORTED for block-compressed views. Thread-safe.
Answer<guest::Texture> DescribeTexels(const cuda::CUDA_RESOURCE_DESC& resource,
                                      const cuda::CUDA_RESOURCE_VIEW_DESC& view);
// Of a resource and a view that DescribeTexels takes.
cuda::CUarray_format FormatSeen(const cuda::CUDA_RESOURCE_DESC& resource, const cuda::CUDA_RESOURCE_VIEW_DESC& view);

}  // namespace tutti::client
