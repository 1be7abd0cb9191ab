// What CUDA's structures for copies in two and three dimensions mean: addresses, pitches and a shape.
#pragma once

#include "client/base/answer.h"
#include "client/copy/copy.h"
#include "cuda/types.h"

namespace tutti::client {

struct DescribedCopy {
  CopyRequest request;
  SideKind destination = SideKind::kAny;
  SideKind source = SideKind::kAny;
};

// INVALID_VALUE or INVALID_HANDLE for what makes no sense; whether memory lies there is Copy's to check. Thread-safe.
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY2D& copy);
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY3D& copy);
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY3D_PEER& copy);

// The structure that means this copy.
cuda::CUDA_MEMCPY3D Describing(const CopyRequest& request);

}  // namespace tutti::client
