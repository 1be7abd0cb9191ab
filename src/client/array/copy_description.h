// Translates CUDA's structures for 2D and 3D copies into addresses, pitches and a shape, and back.
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

// INVALID_VALUE or INVALID_HANDLE for inconsistent structures; Copy checks that the memory exists. Thread-safe.
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY2D& copy);
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY3D& copy);
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY3D_PEER& copy);
Answer<DescribedCopy> Describe(const cuda::CUDA_MEMCPY3D_BATCH_OP& copy);

// The structure that describes this copy.
cuda::CUDA_MEMCPY3D Describing(const CopyRequest& request);

}  // namespace tutti::client
