// The formats of arrays' and textures' channels.
#pragma once

#include <cstdint>

#include "cuda/types.h"

namespace tutti::cuda {

// Bytes per channel; 0: an unsupported format.
constexpr uint32_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

// Of a texel with so many channels; 0: there are no such texels.
constexpr uint32_t TexelBytes(CUarray_format format, unsigned channels) {
  return channels == 1 || channels == 2 || channels == 4 ? channels * ChannelBytes(format) : 0;
}

}  // namespace tutti::cuda
